// Package mcpconfig reads the files that name MCP servers: the .mcp.json of each workspace, the global mcp.json, and what
// the host supplies. It discovers, parses with positions, expands, validates, merges and compares.
//
// Load returns everything that is valid and every problem that was found; it never stops at the first. What it returns is
// immutable, and every function and method may be called concurrently.
//
// The package starts no goroutine and no process, opens no connection, logs nothing and never writes a file. It repeats
// nothing it read: messages name the file, the position, the server, the field and the variable, and never a value, that
// of "type" excepted. Values are held in Secret, which prints as [redacted] in every rendering.
package mcpconfig
