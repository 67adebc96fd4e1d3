package daemon

import (
	"context"
	"os"
)

// catchSignals: Windows has none of them; `traposd reload` does the same there.
func catchSignals() (reloads <-chan os.Signal, end func()) { return nil, func() {} }

func (d *Daemon) reloadOn(context.Context, <-chan os.Signal) {}
