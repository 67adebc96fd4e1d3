package daemon

import "context"

// reloadOnSignal waits for ctx: there is no such signal; `traposd reload` does it.
func (d *Daemon) reloadOnSignal(ctx context.Context) { <-ctx.Done() }
