// Package mcp is the loopback MCP listener: it guards one HTTP endpoint, speaks every published revision of the Model
// Context Protocol on it, and relays what clients ask to the servers of its catalogue as raw JSON.
//
// It starts no process and opens no connection of its own: package upstream does, behind the interface Server. All
// exported types may be used from many goroutines at once unless their comment says otherwise.
package mcp
