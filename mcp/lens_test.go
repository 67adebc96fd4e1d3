package mcp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/traposd/traposd/mcp"
)

// hide is a lens that hides tools, given as `<server id>/<tool>`, from clients of that name; empty: from all.
func hide(client string, tools ...string) mcp.Lens {
	lens := mcp.Lens{Hidden: func(serverID, tool string) string {
		for _, hidden := range tools {
			if hidden == serverID+"/"+tool {
				return "filters of a test"
			}
		}
		return ""
	}}
	if client != "" {
		lens.Client = func(name string) bool { return name == client }
	}
	return lens
}

// listed gives the names of the tools that a POST of tools/list shows.
func (b *bed) listed(t *testing.T, headers ...string) string {
	t.Helper()
	a := b.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, headers...)
	var list struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(a.body), &list); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	names := []string{}
	for _, tool := range list.Result.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

func TestHiddenToolsAreNeitherListedNorCalled(t *testing.T) {
	entries := []mcp.Entry{
		{ID: "1", Name: "s", Server: echo, Tools: tools("a b", "a_b", "c"), Instructions: "of s"},
		{ID: "2", Name: "u", Server: echo, Tools: tools("d"), Instructions: "of u"},
	}
	b := newBed(t, mcp.Options{}, entries...)
	all := b.listed(t)
	hashed, _, _ := strings.Cut(all, " ")
	b.catalogue.Set(entries, hide("", "1/a b", "2/d"))
	equal(t, "the others keep their names", hashed+" "+b.listed(t)+" u__d", all)

	call := func(name string) string {
		return b.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`"}}`).body
	}
	for _, name := range []string{hashed, "u__d"} {
		if got := call(name); !strings.Contains(got, `"code":-31020,`) || !strings.Contains(got, "hidden from this client by filters of a test") {
			t.Errorf("%s is answered with %s", name, got)
		}
	}
	if got := call("s__c"); !strings.Contains(got, `"result"`) {
		t.Errorf("a tool that is shown is answered with %s", got)
	}
	if got := call("s__x"); !strings.Contains(got, `"code":-32602,`) {
		t.Errorf("an unknown tool is answered with %s", got)
	}
	got := b.post(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`).body
	if !strings.Contains(got, "of s") || strings.Contains(got, "of u") {
		t.Errorf("a server without any tool left still instructs, or one with some does not: %s", got)
	}
}

// A server that goes by the last of two names, or by one in another case, must not be led to a tool that is hidden.
func TestHiddenToolsAreNotCalledBesideOthers(t *testing.T) {
	entries := []mcp.Entry{{ID: "1", Server: echo, Tools: tools("shown", "hidden")}} // as at /mcp/s/SERVER, where names are the server's own
	listed, compact := newBed(t, mcp.Options{}), compactBed(t)
	for _, b := range []*bed{listed, compact} {
		b.catalogue.Set(entries, hide("", "1/hidden"))
	}
	for _, params := range []string{
		`{"name":"shown","name":"hidden"}`,
		`{"name":"shown","n\u0061me":"hidden"}`,
		`{"name":"shown","Name":"hidden"}`,
		`{"NAME":"hidden","name":"shown"}`,
		`{"name":"call-tool","Name":"hidden","arguments":{"name":"shown"}}`,
	} {
		for _, b := range []*bed{listed, compact} {
			got := b.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`).body
			if !strings.Contains(got, `"code":-32602,`) {
				t.Errorf("%s at %s is answered with %s", params, b.url, got)
			}
		}
	}
}

// The first lens that is for a client counts, in every era.
func TestLensesAreForClients(t *testing.T) {
	b := newBed(t, mcp.Options{})
	b.catalogue.Set([]mcp.Entry{{ID: "1", Name: "s", Server: echo, Tools: tools("a", "b", "c")}},
		hide("test", "1/a"), hide("modern", "1/b"), hide("", "1/c"))
	equal(t, "a session", b.listed(t, "Mcp-Session-Id", b.session(t, mcp.Revision20251125, `{}`)), "s__b s__c")
	equal(t, "a client without a name", b.listed(t), "s__a s__b")
	a := b.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},`+
		`"io.modelcontextprotocol/clientInfo":{"name":"modern","version":"7"}}}}`,
		"Mcp-Protocol-Version", mcp.Revision20260728, "Mcp-Method", "tools/list")
	if strings.Contains(a.body, "s__b") || !strings.Contains(a.body, "s__c") {
		t.Errorf("a client of 2026-07-28 got %s", a.body)
	}
}

// Clients hear of a change of what is hidden from them, and of nothing else.
func TestClientsHearOfWhatIsHidden(t *testing.T) {
	entries := []mcp.Entry{{ID: "1", Name: "s", Server: echo, Tools: tools("a", "b")}}
	b := newBed(t, mcp.Options{}, entries...)
	session := b.session(t, mcp.Revision20251125, `{}`)
	e := b.stream(t, http.MethodGet, "", "Mcp-Session-Id", session, "Accept", "text/event-stream")
	modern := b.stream(t, http.MethodPost, listenBody, listenHeaders...)
	modern.next(t) // the acknowledgement
	const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

	b.catalogue.Set(entries, hide("another", "1/a"))
	b.catalogue.Set(entries, hide("", "1/a"))
	equal(t, "hidden", e.next(t), changed)
	if got := modern.next(t); !strings.Contains(got, "tools/list_changed") {
		t.Errorf("a client of 2026-07-28 got %s", got)
	}
	b.catalogue.Set(entries, hide("another", "1/b"), hide("", "1/a"))
	b.catalogue.Set(entries)
	equal(t, "shown again", e.next(t), changed)
	equal(t, "all", b.listed(t, "Mcp-Session-Id", session), "s__a s__b")
	b.Broadcast("1", "notifications/marker", nil)
	equal(t, "nothing else", e.next(t), `{"jsonrpc":"2.0","method":"notifications/marker"}`)
}

const listenBody = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{` +
	`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

var listenHeaders = []string{
	"Accept", acceptBoth, "Mcp-Protocol-Version", mcp.Revision20260728, "Mcp-Method", "subscriptions/listen",
}
