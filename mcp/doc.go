// Package mcp is the loopback MCP listener: it guards one HTTP endpoint, speaks every published revision of the Model
// Context Protocol on it, and relays what clients ask to the servers of its catalogue as raw JSON.
//
// A Catalogue holds what is offered and routes by name; a Listener serves it. The revisions with sessions (2024-11-05 to
// 2025-11-25), the one without (2026-07-28) and plain JSON-RPC without either share the handlers; they differ in how a
// request is admitted and in how a message reaches the client ahead of an answer. A response is plain JSON until
// something has to come first (progress, a log message, a question to the client), and an event stream from then on.
//
// Streams are not resumable: a broken one loses the request, which is cancelled at its server. Members of a message that the
// listener does not route by pass as they are, byte for byte, and so do results and definitions; only names change.
//
// It starts no process and opens no connection of its own: package upstream does, behind the interface Server. All
// exported types may be used from many goroutines at once unless their comment says otherwise.
package mcp
