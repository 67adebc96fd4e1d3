//go:build !race

package mcpconfig

import "time"

// hostileTime is the bound for hostile inputs.
const hostileTime = 100 * time.Millisecond
