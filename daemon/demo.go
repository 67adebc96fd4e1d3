package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"
)

// DemoOptions describe a run of the demo.
type DemoOptions struct {
	Out     io.Writer
	Version string
	Program string      // our own executable, which the demo's servers are made of
	Keep    bool        // stay up after the tour, until ctx ends
	Logger  *zap.Logger // the service's own log
}

// demoTimeout bounds the tour, so that what is broken fails instead of hanging.
const demoTimeout = 60 * time.Second

// Demo shows the main job in one process: the service with a temporary workspace, an MCP server, two emulated computers,
// and a client that calls through the real listener while the .mcp.json is edited. It returns an error if anything does
// not go as it should, and leaves nothing behind.
func Demo(ctx context.Context, opts DemoOptions) (err error) {
	root, err := os.MkdirTemp("", "traposd-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	t, err := newTour(opts, root)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	failures := make(chan error, 1+len(demoComputers))
	defer func() {
		cancel()
		wg.Wait()
		close(failures)
		for failure := range failures {
			err = errors.Join(err, failure)
		}
	}()
	wg.Go(func() {
		if err := t.daemon.Run(ctx); err != nil {
			failures <- err
			cancel()
		}
	})
	select {
	case <-t.daemon.Ready():
	case <-ctx.Done():
		return nil // the failure is told above
	}
	for i, label := range demoComputers {
		wg.Go(func() {
			err := RunComputer(ctx, ComputerOptions{ID: i + 1, Label: label, URL: t.daemon.GatewayURL(), Password: t.password, Logger: opts.Logger})
			if err != nil && ctx.Err() == nil {
				failures <- fmt.Errorf("computer %s: %w", label, err)
			}
		})
	}
	limited, cancelTour := context.WithTimeout(ctx, demoTimeout)
	defer cancelTour()
	if err := t.run(limited); err != nil {
		return err
	}
	if opts.Keep {
		t.explain()
		<-ctx.Done()
	}
	return nil
}

var demoComputers = []string{"miner", "farmer"}
