package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/traposd/traposd/mcp"
)

// Many servers read their stdin as strict UTF-8 and end at the first byte that is not.
func TestBytesThatAreNoUTF8ReachNoServer(t *testing.T) {
	called := false
	b := newBed(t, mcp.Options{}, mcp.Entry{ID: "a", Name: "a", Tools: tools("t"), Server: serverFunc(
		func(context.Context, mcp.Request) (json.RawMessage, error) {
			called = true
			return json.RawMessage(`{}`), nil
		})})
	for _, body := range []string{
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a__t\",\"arguments\":{\"x\":\"\xff\"}}}",
		"[{\"jsonrpc\":\"2.0\",\"id\":\"\xc3\",\"method\":\"tools/call\",\"params\":{\"name\":\"a__t\"}}]",
	} {
		a := b.post(t, body)
		if a.status != http.StatusBadRequest || !strings.Contains(a.body, "UTF-8") || called {
			t.Errorf("called: %v, %d %s", called, a.status, a.body)
		}
	}
}
