package tokens

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"github.com/traposd/traposd/mcp"
)

// tools is the size of the catalogue: ten servers of thirty.
const tools = 300

// The parts that tools are made of: some 800 bytes each, of which half is description.
var (
	servers = []string{"github", "jira", "postgres", "slack", "browser", "filesystem", "calendar", "mail", "cloud", "metrics"}
	verbs   = []string{"list", "get", "create", "update", "delete", "search"}
	nouns   = []string{"issue", "comment", "page", "channel", "record"}
)

func catalogue() *mcp.Catalogue {
	noop := serverFunc(func(context.Context, mcp.Request) (json.RawMessage, error) {
		return json.RawMessage(`{"content":[]}`), nil
	})
	var entries []mcp.Entry
	for _, server := range servers {
		entry := mcp.Entry{ID: server, Name: server, Server: noop}
		for _, verb := range verbs {
			for _, noun := range nouns {
				entry.Tools = append(entry.Tools, tool(server, verb, noun))
			}
		}
		entries = append(entries, entry)
	}
	c := mcp.NewCatalogue()
	c.Set(entries)
	return c
}

func tool(server, verb, noun string) mcp.Definition {
	name := verb + "_" + noun
	property := func(kind, description string) map[string]any {
		return map[string]any{"type": kind, "description": description}
	}
	raw, err := json.Marshal(map[string]any{
		"name": name,
		"description": fmt.Sprintf("Use this to %s one or more %ss in %s. Returns the %s with its id, author, state and the times at which it was made and last changed. "+
			"Fails if you have no access to it.", verb, noun, server, noun),
		"inputSchema": map[string]any{
			"type": "object",
			"properties": map[string]any{
				"id":     property("string", "The "+noun+"'s id, as another tool of "+server+" gives it"),
				"owner":  property("string", "The account or team that the "+noun+" belongs to"),
				"filter": property("string", "Only "+noun+"s that match, in the query language of "+server),
				"limit":  map[string]any{"type": "integer", "minimum": 1, "maximum": 100, "default": 30, "description": "How many at most"},
				"order":  map[string]any{"type": "string", "enum": []string{"created", "updated", "name"}, "description": "What to sort by"},
			},
			"required": []string{"owner"},
		},
		"annotations": map[string]any{"readOnlyHint": verb == "list" || verb == "get" || verb == "search"},
	})
	if err != nil {
		panic(err)
	}
	return mcp.Definition{Name: name, Raw: raw}
}

type serverFunc func(ctx context.Context, req mcp.Request) (json.RawMessage, error)

func (f serverFunc) Call(ctx context.Context, req mcp.Request) (json.RawMessage, error) {
	return f(ctx, req)
}

// TestCompactModeSavesTokens says (-v) what a client reads in each mode, in the tokens of o200k_base, and holds compact mode
// to a twentieth of the list.
func TestCompactModeSavesTokens(t *testing.T) {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	listener := mcp.NewListener(mcp.Options{Catalogue: catalogue()})
	defer func() {
		if err := listener.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	read := func(what, target, body string) int {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		listener.ServeHTTP(w, r)
		var answer struct{ Result json.RawMessage }
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.Result == nil {
			t.Fatalf("%s: answered %.200s", what, w.Body)
		}
		n, err := codec.Count(string(answer.Result))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%-46s %7d bytes %6d tokens", what, len(answer.Result), n)
		return n
	}
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	const find = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find-tools","arguments":{"query":%q}}}`
	all := read(fmt.Sprintf("tools/list of %d tools", tools), "http://localhost/mcp", list)
	compact := read("tools/list in compact mode", "http://localhost/mcp?compact", list)
	found := read("find-tools, 5 of them described", "http://localhost/mcp?compact", fmt.Sprintf(find, "create an issue on github"))
	if (compact+found)*20 > all {
		t.Errorf("compact mode with one search costs %d tokens, the list %d", compact+found, all)
	}
}
