// Package clients knows the configuration files of other MCP clients: where each keeps its list of servers and how it
// writes an entry. Connect adds our listener to such a file, and Import reads one into the form of .mcp.json. Both are pure
// but for the files they are told to read and write.
package clients
