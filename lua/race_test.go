//go:build race

package lua

// slowdown divides the size of what is sent: interpreting Lua under the race detector takes ten times as long.
const slowdown = 10
