//go:build !linux

package mcpconfig

import (
	"testing"
	"time"
)

// timed measures how long f takes.
func timed(_ testing.TB, f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}
