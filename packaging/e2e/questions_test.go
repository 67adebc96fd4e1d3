//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestQuestionsAcrossRevisions has the everything-server of either era ask a client of either era for input, in one round
// and in several, over HTTP and stdio: whatever way each side has for questions, the answers arrive.
func TestQuestionsAcrossRevisions(t *testing.T) {
	b := newBed(t)
	servers := everythingServers(b)
	var config []string
	for _, server := range servers {
		config = append(config, fmt.Sprintf("%q: %s", combination(server.name, 0), server.entry))
	}
	b.write(`{"mcpServers": {` + strings.Join(config, ", ") + `}}`)
	b.start()
	for _, server := range servers {
		name := combination(server.name, 0)
		b.await(name, func() bool { return b.server(name).State == "ready" })
		for _, revision := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(name+"/"+revision, func(t *testing.T) {
				session := answering(t, b.url+"/s/"+name, revision)
				for _, test := range []struct{ tool, want string }{
					{"elicitation", "Hello, Alice!"},
					{"sampling", "Sampling response: Paris"},
					{"list_roots", "Client exposed 1 root(s): file:///r"},
					{"request_state", "state-ok: requestState received and confirmation accepted"},
					{"multiple_inputs", "Paris Alice — 1 root(s) visible"},
					{"multi_round", "Multi-round complete: Alice likes blue"},
					{"capabilities", "Capability-aware input requests fulfilled"},
				} {
					result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "test_input_required_result_" + test.tool})
					if err != nil {
						t.Errorf("%s: %v", test.tool, err)
						continue
					}
					text := ""
					if len(result.Content) == 1 {
						if content, ok := result.Content[0].(*sdk.TextContent); ok {
							text = content.Text
						}
					}
					if text != test.want {
						t.Errorf("%s: got %q, want %q", test.tool, text, test.want)
					}
				}
			})
		}
	}
	b.stop()
}

// answering is a client that answers every question.
func answering(t *testing.T, url, revision string) *sdk.ClientSession {
	t.Helper()
	options := &sdk.ClientOptions{
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"name": "Alice", "color": "blue", "ok": true}}, nil
		},
	}
	// Deprecated with 2026-07-28, which has both all the same.
	options.CreateMessageHandler = func(context.Context, *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) { //nolint:staticcheck // see above
		return &sdk.CreateMessageResult{Role: "assistant", Model: "m", Content: &sdk.TextContent{Text: "Paris"}}, nil //nolint:staticcheck // see above
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "e2e", Version: "1"}, options)
	client.AddRoots(&sdk.Root{URI: "file:///r", Name: "r"}) //nolint:staticcheck // see above
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: url}, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}
