//go:build unix

package daemon

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// reloadOnSignal reloads on SIGHUP until ctx ends.
func (d *Daemon) reloadOnSignal(ctx context.Context) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			// It fails only while stopping, and then there is nothing to reload.
			_ = d.reload(ctx)
		}
	}
}
