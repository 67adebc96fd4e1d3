package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/traposd/traposd/mcp"
)

// A server may take its time to agree to a subscription. What changes meanwhile is told once the stream is there.
func TestListenersHearOfChangesWhileTheySubscribe(t *testing.T) {
	var b *bed
	entry := mcp.Entry{
		ID: "a", Name: "a", Capabilities: json.RawMessage(`{"resources":{"subscribe":true}}`),
		Resources: []mcp.Definition{{Name: "r:1", Raw: json.RawMessage(`{"uri":"r:1","name":"r"}`)}},
	}
	var early *events
	entry.Server = serverFunc(func(ctx context.Context, req mcp.Request) (json.RawMessage, error) {
		if req.Method == "resources/subscribe" {
			changed := entry
			changed.Tools = tools("new")
			b.catalogue.Set([]mcp.Entry{changed})
			select {
			case <-early.messages: // the others have been told
			case <-ctx.Done():
			}
		}
		return json.RawMessage(`{}`), nil
	})
	b = newBed(t, mcp.Options{}, entry)
	listening := func(filter string) *events {
		return b.stream(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":`+filter+
			`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen", "Accept", acceptBoth)
	}
	early = listening(`{"toolsListChanged":true}`)
	early.next(t) // the acknowledgement
	late := listening(`{"toolsListChanged":true,"resourceSubscriptions":["r:1"]}`)
	for _, want := range []string{"acknowledged", "tools/list_changed"} {
		if got := late.next(t); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
