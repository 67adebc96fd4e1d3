//go:build race

package mcpconfig

import "time"

// The race detector slows reading down fifteen times, so hostile files are smaller with it. Without it their real size
// and the bounds are tested.
const (
	hostileSize = 256 << 10
	hostileTime = time.Second
)
