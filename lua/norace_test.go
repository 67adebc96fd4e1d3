//go:build !race

package lua

const slowdown = 1
