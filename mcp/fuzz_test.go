package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/traposd/traposd/mcp"
)

// FuzzPOST sends any body in either era: nothing may panic, and every answer is JSON or none at all.
func FuzzPOST(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__t","_meta":{"progressToken":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"server:s/{x}"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"\u0000"}}}`,
		`[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":1,"result":{}}]`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
	} {
		f.Add([]byte(seed), "", "")
		f.Add([]byte(seed), mcp.Revision20260728, "tools/list")
	}
	catalogue := mcp.NewCatalogue()
	catalogue.Set([]mcp.Entry{{
		ID: "s", Name: "s", Server: echo, Tools: tools("t"), Capabilities: json.RawMessage(`{"completions":{},"resources":{},"logging":{}}`),
		Prompts:           []mcp.Definition{{Name: "p", Raw: json.RawMessage(`{"name":"p"}`)}},
		ResourceTemplates: []mcp.Definition{{Name: "x:{+y}/{z}", Raw: json.RawMessage(`{"uriTemplate":"x:{+y}/{z}"}`)}},
	}})
	l := mcp.NewListener(mcp.Options{Catalogue: catalogue, MaxSessions: 10})
	f.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			f.Error(err)
		}
	})
	f.Fuzz(func(t *testing.T, body []byte, revision, method string) {
		if bytes.Contains(body, []byte("subscriptions/listen")) {
			t.Skip() // ends with its client only
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if revision != "" {
			r.Header.Set("Mcp-Protocol-Version", revision)
			r.Header.Set("Mcp-Method", method)
		}
		w := httptest.NewRecorder()
		l.ServeHTTP(w, r)
		if w.Code == http.StatusAccepted && w.Body.Len() == 0 {
			return
		}
		if !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	})
}
