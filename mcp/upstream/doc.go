// Package upstream runs the configured MCP servers: one worker per server starts it (a child process, or a connection
// over Streamable HTTP or SSE), shakes hands, lists what it offers, relays calls to it as raw JSON, revives it when it
// dies, swaps it when its configuration changes and stops it without a trace when it goes.
//
// A Reconciler is told the whole set of servers that should run and makes it so; servers never wait for one another.
// Its methods may be called from many goroutines at once. Every goroutine and every process it starts has ended when
// Close returns.
//
// It does not read configuration files, does not name what it relays (package mcp does) and decodes no definition, no
// argument and no result beyond the members that it routes on.
package upstream
