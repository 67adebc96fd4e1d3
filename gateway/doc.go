// Package gateway is the WebSocket gateway to which ComputerCraft computers connect: it checks their hello, keeps the
// registry of those that are connected, and carries requests and replies between them and its callers, as protocol
// version 1 of PROTOCOL.md says.
//
// All exported functions and methods may be called from many goroutines at once. A connected computer costs one
// goroutine, and a second one while something is being written to it. Computers are independent of each other: nothing
// waits for one of them under a lock, and each queue, buffer and wait that serves one has a bound (limits.go).
//
// The package never sends a request twice, whatever happens to the connection. It knows nothing of MCP, does not decide
// who may ask what, and opens no listener: it is an [net/http.Handler].
package gateway
