package mcp

import (
	"encoding/json"
	"slices"

	"github.com/traposd/traposd/mcp/mirror"
)

// The published revisions of the Model Context Protocol that the listener speaks.
const (
	Revision20241105 = "2024-11-05"
	Revision20250326 = "2025-03-26"
	Revision20250618 = "2025-06-18"
	Revision20251125 = "2025-11-25"
	Revision20260728 = "2026-07-28"
)

// sessionRevisions begin with `initialize` and have sessions; newest first.
var sessionRevisions = []string{Revision20251125, Revision20250618, Revision20250326, Revision20241105}

// supportedRevisions is what `server/discover` and an unsupported-version error list; newest first.
var supportedRevisions = append([]string{Revision20260728}, sessionRevisions...)

// assumedRevision is that of a request that names none: 2025-06-18, transports, "Protocol Version Header".
const assumedRevision = Revision20250326

func isSessionRevision(revision string) bool { return slices.Contains(sessionRevisions, revision) }

// negotiate answers the revision that a client asks for in `initialize`: that one if it is known, else the newest that has
// sessions (2025-11-25, lifecycle, "Version Negotiation").
func negotiate(asked string) string {
	if isSessionRevision(asked) {
		return asked
	}
	return sessionRevisions[0]
}

// hasBatches reports whether an array of messages is allowed: 2025-06-18 removed it again.
func hasBatches(revision string) bool { return revision <= Revision20250326 }

// Keys of `_meta` that 2026-07-28 reserves (basic, "_meta").
const (
	metaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	metaClientInfo         = "io.modelcontextprotocol/clientInfo"
	metaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaLogLevel           = "io.modelcontextprotocol/logLevel"
	metaServerInfo         = "io.modelcontextprotocol/serverInfo"
	metaSubscriptionID     = "io.modelcontextprotocol/subscriptionId"
	metaProgressToken      = "progressToken"
)

// Headers of the Streamable HTTP transport.
const (
	headerSession  = "Mcp-Session-Id"
	headerRevision = "Mcp-Protocol-Version"
	headerMethod   = mirror.HeaderMethod
	headerName     = mirror.HeaderName
)

// mustJSON encodes a value of our own making, which always can be.
func mustJSON(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic("mcp: " + err.Error())
	}
	return data
}
