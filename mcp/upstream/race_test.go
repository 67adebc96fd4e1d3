//go:build race

package upstream

// slowdown divides what a test does in bulk: the race detector makes it ten times slower.
const slowdown = 10
