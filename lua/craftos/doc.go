// Package craftos emulates a CraftOS (CC:Tweaked) computer in pure Go, for tests, for load, and for people who
// write programs for such computers without a game at hand.
//
// A [Computer] has a disk, a terminal, settings, timers, HTTP and WebSockets, and runs Lua on gopher-lua. What is
// modelled strictly is what programs trip over on the real thing (CC:Tweaked 1.113.1): 256 queued events, 131,072
// bytes per message, dropped continuation frames, sanitised text, no close frame at a reboot, denied private
// addresses, four sockets, a disk of 1,000,000 bytes whose files are truncated on opening, and the abort after seven
// seconds without a yield.
//
// Concurrency: the methods of a Computer may be called from any goroutine. Each Lua coroutine runs on a goroutine of
// its own, one at a time, and all of them end before [Computer.Run] returns.
//
// It does not emulate the world around the computer: no turtles, no modems, no peripherals, no redstone.
package craftos
