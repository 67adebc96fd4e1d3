//go:build race

package mcpconfig

import "time"

// hostileTime is the bound for hostile inputs; the race detector slows reading down some ten times.
const hostileTime = time.Second
