//go:build !race

package mcpconfig

import "time"

// The size of hostile files, and the bound of the time to read one.
const (
	hostileSize = maxFileBytes
	hostileTime = 100 * time.Millisecond
)
