package daemon

import (
	"context"

	"github.com/kardianos/service"
)

// RunService runs d until ctx ends or, when the service control manager started the process, until it says stop.
func RunService(ctx context.Context, d *Daemon) error {
	if service.Interactive() {
		return d.Run(ctx)
	}
	p := &program{ctx: ctx, daemon: d}
	s, err := service.New(p, &service.Config{Name: "traposd"})
	if err != nil {
		return err
	}
	if err := s.Run(); err != nil {
		return err
	}
	return p.err
}

// program is a Daemon as the service control manager drives it. Its methods are called one after another.
type program struct {
	ctx    context.Context //nolint:containedctx // the interface's methods take none
	daemon *Daemon
	cancel context.CancelFunc
	done   chan struct{}
	err    error // set before done is closed
}

// Start must not block. The service control manager has the process's failure from its exit code.
func (p *program) Start(service.Service) error {
	ctx, cancel := context.WithCancel(p.ctx)
	p.cancel, p.done = cancel, make(chan struct{})
	go func() {
		defer close(p.done)
		p.err = p.daemon.Run(ctx)
	}()
	select {
	case <-p.done:
		return p.err
	case <-p.daemon.Ready():
		return nil
	}
}

// Stop ends the service and waits for it.
func (p *program) Stop(service.Service) error {
	p.cancel()
	<-p.done
	return p.err
}
