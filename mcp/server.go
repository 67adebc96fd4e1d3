package mcp

import (
	"context"
	"encoding/json"
)

// Server is what the listener relays to: a configured server (package upstream) or the daemon's computer tools. Its
// methods may be called from many goroutines at once.
type Server interface {
	// Call sends one request and waits for its result.
	//
	// req.Params carry the server's own names (not the exposed ones) and neither a progress token nor any of the
	// `io.modelcontextprotocol/…` members that belong to the client's revision, its capabilities excepted: they are true
	// whatever the server's revision, and narrower than what a shared session was opened with. The result is raw, as the
	// server sent it. A server's own JSON-RPC error comes back as a *wire.Error; a failure on the way as a *wire.Error
	// too, with a code of this package (see Code…) and a message that names the server. When ctx ends, the server is told
	// (`notifications/cancelled`) and Call returns at once with ctx's cause.
	Call(ctx context.Context, req Request) (json.RawMessage, error)
}

// Request is one request on its way to a Server.
type Request struct {
	Method string
	Params json.RawMessage // nil: none

	// Progress, if not nil, says that the asker wants progress. It is called in the order of arrival, never after Call has
	// returned, with the raw params of the server's notification (the token in them is meaningless to the asker). It does
	// not block.
	Progress func(params json.RawMessage)

	// Client is who asks. It is never nil.
	Client Client
}

// Client is the asker's side of one request, as far as a server may use it while it works on that request.
type Client interface {
	// Name is how the client calls itself ("claude-code/2.1"), for logs; empty if it did not say.
	Name() string

	// Capabilities is the raw client capabilities object; nil if it declared none.
	Capabilities() json.RawMessage

	// Notify passes a notification that belongs to this request on to the asker. It does not block and may drop.
	Notify(method string, params json.RawMessage)

	// Request asks the asker (sampling, elicitation, roots) and waits for its answer. It fails at once with
	// CodeClientCannot if the asker has no way to be asked.
	Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
}

// RoundTripper is what a Client may implement beside: one whose revision answers a server's questions in a further request
// (2026-07-28). A server of that revision does best to return its `input_required` result to such a client as it is, so that
// keys and state stay the server's own. Request works for it too, for servers that can only ask while they work.
type RoundTripper interface {
	TakesInputRequired() bool
}

// Sessioned is what a Client may implement beside: one that may have a session.
type Sessioned interface {
	// Session tells this session from every other in a log, and opens nothing; empty if there is none.
	Session() string
}

// Definition is one tool, prompt, resource or resource template: the name (for resources the uri) that routes to it, and
// the whole object as the server sent it.
type Definition struct {
	Name string
	Raw  json.RawMessage
}

// Entry is one server in a catalogue: what it offers now.
type Entry struct {
	// ID tells this server from every other, also from one of the same name in another workspace. Empty is not allowed.
	ID string

	// Name is the server's configured name, the prefix of what it offers. An empty name means no prefix and precedence over
	// every other server: the computer tools.
	Name string

	Server Server

	Tools             []Definition
	Prompts           []Definition
	Resources         []Definition
	ResourceTemplates []Definition

	Capabilities json.RawMessage // the server's own capabilities object, raw; nil: tools only
	Instructions string
}
