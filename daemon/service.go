//go:build !windows

package daemon

import "context"

// RunService runs d until ctx ends. systemd and launchd supervise an ordinary foreground process that ends on SIGTERM, so
// there is nothing more to it; Windows has a protocol of its own.
func RunService(ctx context.Context, d *Daemon) error { return d.Run(ctx) }
