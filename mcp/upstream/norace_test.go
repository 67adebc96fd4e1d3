//go:build !race

package upstream

const slowdown = 1
