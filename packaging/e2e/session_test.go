//go:build e2e

package e2e

import (
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// session opens a session with the official SDK as the client.
func (b *bed) session(opts *sdk.ClientOptions) *sdk.ClientSession {
	b.t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "e2e", Version: "1"}, opts)
	session, err := client.Connect(b.t.Context(), &sdk.StreamableClientTransport{Endpoint: b.url}, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = session.Close() })
	return session
}
