//go:build unix

package daemon

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// catchSignals keeps signals from ending the service, from its first step to its last: SIGHUP asks for a reload, and
// SIGPIPE comes when whoever read the log has gone (a terminal, a pager, the journal), which is no reason to stop serving.
// Caught and not ignored, since the servers' processes would inherit that.
func catchSignals() (reloads <-chan os.Signal, end func()) {
	hup, pipe := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	signal.Notify(pipe, syscall.SIGPIPE)
	return hup, func() {
		signal.Stop(hup)
		signal.Stop(pipe)
	}
}

// reloadOn reloads at each signal until ctx ends.
func (d *Daemon) reloadOn(ctx context.Context, reloads <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-reloads:
			// It fails only while stopping, and then there is nothing to reload.
			_ = d.reload(ctx)
		}
	}
}
