package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
)

// compactBed is a bed whose URL asks for compact mode.
func compactBed(t *testing.T, entries ...mcp.Entry) *bed {
	b := newBed(t, mcp.Options{}, entries...)
	b.url += "?compact"
	return b
}

func definition(name, description string) mcp.Definition {
	return mcp.Definition{Name: name, Raw: json.RawMessage(fmt.Sprintf(
		`{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{"path":{"type":"string"}}},"annotations":{"readOnlyHint":true}}`, name, description))}
}

var files = mcp.Entry{ID: "1", Name: "files", Server: echo, Tools: []mcp.Definition{
	definition("readFile", "Reads a text file."),
	definition("write_file", "Writes text to a file; overwrites what was there."),
	definition("list", "Lists a folder."),
}}

// found is what find-tools says.
type found struct {
	Tools   []json.RawMessage
	More    []string
	Matched int
	Note    string
}

func (f found) names(t *testing.T) string {
	var names []string
	for _, raw := range f.Tools {
		name, _ := wire.Get(raw, "name")
		text, _ := wire.String(name)
		names = append(names, text)
	}
	return strings.Join(names, " ")
}

// tool calls one of the tools of compact mode and gives the answer.
func (b *bed) tool(t *testing.T, name, arguments string) string {
	t.Helper()
	return b.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":`+arguments+`}}`).body
}

func (b *bed) find(t *testing.T, arguments string) found {
	t.Helper()
	body := b.tool(t, "find-tools", arguments)
	var answer struct {
		Result struct{ Content []struct{ Text string } }
	}
	var f found
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Result.Content) != 1 {
		t.Fatalf("%v in %s", err, body)
	}
	if err := json.Unmarshal([]byte(answer.Result.Content[0].Text), &f); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return f
}

func TestFindTools(t *testing.T) {
	b := compactBed(t, files,
		mcp.Entry{ID: "0", Server: echo, Tools: []mcp.Definition{definition("exec-lua", "Runs Lua on a computer.")}},
		mcp.Entry{ID: "2", Name: "hub", Server: echo, Tools: []mcp.Definition{
			definition("getIssue", "Reads an issue with all its comments."),
			definition("list_files_changed", "Files that a commit touches."),
		}})
	equal(t, "listed", b.listed(t), "find-tools call-tool")
	for _, row := range []struct{ arguments, want string }{
		{`{"query":"read file"}`, "files__readFile files__write_file hub__list_files_changed files__list hub__getIssue"},
		{`{"query":"ISSUES"}`, "hub__getIssue"},
		{`{"query":"lua"}`, "exec-lua"},
		{`{"query":"hub__getIssue"}`, "hub__getIssue hub__list_files_changed"},
		{`{"query":"list","server":"files"}`, "files__list"},
		{`{"query":"overwrite"}`, "files__write_file"},
		{`{"query":"path","limit":2}`, "exec-lua files__readFile"},
		{`{"query":"","server":"hub"}`, "hub__getIssue hub__list_files_changed"},
		{`{"query":"quaternion"}`, ""},
	} {
		equal(t, row.arguments, b.find(t, row.arguments).names(t), row.want)
	}
	equal(t, "what a client needs", string(b.find(t, `{"query":"lua"}`).Tools[0]),
		`{"name":"exec-lua","description":"Runs Lua on a computer.","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}`)
	limited := b.find(t, `{"query":"","limit":1}`)
	equal(t, "the rest", fmt.Sprint(limited.Matched, limited.More), "6 [files__readFile files__write_file files__list hub__getIssue hub__list_files_changed]")
	if none := b.find(t, `{"query":"quaternion"}`); none.Note == "" || none.Tools == nil {
		t.Errorf("nothing found is told as %+v", none)
	}
	for _, wrong := range []string{`{}`, `{"query":7}`, `{"query":"x","limit":0}`, `{"query":"x","limit":"many"}`, `{"query":"` + strings.Repeat("x", 2000) + `"}`} {
		if got := b.tool(t, "find-tools", wrong); !strings.Contains(got, `"code":-32602,`) {
			t.Errorf("%s is answered with %s", wrong, got)
		}
	}
}

// What is found is bounded, except that the best one is always there to be called.
func TestFindToolsIsBounded(t *testing.T) {
	large := mcp.Entry{ID: "1", Name: "s", Server: echo}
	for i := range 200 {
		large.Tools = append(large.Tools, definition(fmt.Sprint("tool", i), strings.Repeat("words of a description ", 1000)))
	}
	b := compactBed(t, large)
	got := b.find(t, `{"query":"tool","limit":1000}`)
	equal(t, "in full, by name, all", fmt.Sprint(len(got.Tools), len(got.More), got.Matched), "1 50 200")
	list := b.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).body
	if len(list) > 4<<10 {
		t.Errorf("the list of compact mode has %d bytes", len(list))
	}
}

func TestCallToolRelaysAsUsual(t *testing.T) {
	b := compactBed(t, files, mcp.Entry{ID: "2", Name: "s", Server: failing, Tools: tools("fails")})
	for _, row := range []struct{ arguments, want string }{
		{`{"name":"files__readFile","arguments":{"path":"x","n":9007199254740993}}`, `"params":{"name":"readFile","arguments":{"path":"x","n":9007199254740993}}`},
		{`{"name":"files__list"}`, `"params":{"name":"list"}`},
		{`{"name":"files__list","arguments":null}`, `"params":{"name":"list"}`},
		{`{"name":"files__list","arguments":"{\"path\":\"y\"}"}`, `"params":{"name":"list","arguments":{"path":"y"}}`},
		{`{"name":"files__list","arguments":[]}`, `"code":-32602,`},
		{`{"name":"files__list","arguments":"y"}`, `"code":-32602,`},
		{`{"arguments":{}}`, `"code":-32602,`},
		{`{"name":"files__nothing"}`, `unknown tool \"files__nothing\"; find-tools has the names`},
		{`{"name":"call-tool"}`, `"code":-32602,`},
		{`{"name":"s__fails"}`, `"error":{"code":-7,"message":"no"}`},
	} {
		if got := b.tool(t, "call-tool", row.arguments); !strings.Contains(got, row.want) {
			t.Errorf("%s is answered with %s", row.arguments, got)
		}
	}
	if got := b.tool(t, "files__list", `{}`); !strings.Contains(got, `"result"`) {
		t.Errorf("a tool by its own name is answered with %s", got)
	}
	// A filter hides tools here too.
	b.catalogue.Set([]mcp.Entry{files}, hide("", "1/list"))
	equal(t, "found", b.find(t, `{"query":"list"}`).names(t), "")
	if got := b.tool(t, "call-tool", `{"name":"files__list"}`); !strings.Contains(got, `"code":-31020,`) {
		t.Errorf("a hidden tool is answered with %s", got)
	}
}

var failing = serverFunc(func(context.Context, mcp.Request) (json.RawMessage, error) { return nil, wire.Errorf(-7, "no") })

// The tools of compact mode stand before a server's own that are called the same, which can be called all the same.
func TestCompactToolsComeFirst(t *testing.T) {
	b := compactBed(t, mcp.Entry{ID: "1", Server: echo, Tools: tools("find-tools", "call-tool")})
	equal(t, "listed", b.listed(t), "find-tools call-tool")
	if got := b.tool(t, "call-tool", `{"name":"find-tools","arguments":{"x":1}}`); !strings.Contains(got, `"params":{"name":"find-tools","arguments":{"x":1}}`) {
		t.Errorf("answered with %s", got)
	}
}

// The url decides, and says so if it says something else; without a word in it, the lens does.
func TestModeOfAClient(t *testing.T) {
	b := newBed(t, mcp.Options{}, files)
	all, own := b.url, len(files.Tools)
	count := func() int { return len(strings.Fields(b.listed(t))) }
	compactLens := mcp.Lens{Compact: true}
	for _, row := range []struct {
		query  string
		lenses []mcp.Lens
		tools  int
	}{
		{"", nil, own},
		{"?compact", nil, 2},
		{"?compact=1", nil, 2},
		{"?x=y&compact=true", nil, 2},
		{"?compact=false", nil, own},
		{"?x=y", nil, own},
		{"", []mcp.Lens{compactLens}, 2},
		{"?compact=0", []mcp.Lens{compactLens}, own},
		{"?compact", []mcp.Lens{hide("", "1/list")}, 2},
		{"", []mcp.Lens{{Client: func(name string) bool { return name == "another" }, Compact: true}}, own},
	} {
		b.url = all + row.query
		b.catalogue.Set([]mcp.Entry{files}, row.lenses...)
		equal(t, row.query, count(), row.tools)
	}
	for _, query := range []string{"?compact=perhaps", "?compact&compact=0"} {
		b.url = all + query
		if a := b.post(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); a.status != http.StatusBadRequest || !strings.Contains(a.body, "compact in the url") {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
	// A session stays as it was opened.
	b.url = all + "?compact"
	b.catalogue.Set([]mcp.Entry{files})
	session := b.session(t, mcp.Revision20251125, `{}`)
	b.url = all
	equal(t, "a session", len(strings.Fields(b.listed(t, "Mcp-Session-Id", session))), 2)
}

// Clients of compact mode hear of servers that come and go, and of nothing that they cannot see.
func TestCompactClientsHearOfServers(t *testing.T) {
	b := compactBed(t, files)
	session := b.session(t, mcp.Revision20251125, `{}`)
	e := b.stream(t, http.MethodGet, "", "Mcp-Session-Id", session, "Accept", "text/event-stream")
	more := files
	more.Tools = append(tools("new"), files.Tools...)
	b.catalogue.Set([]mcp.Entry{more})
	waitFor(t, "the new tool", func() bool { return b.find(t, `{"query":"new"}`).Matched == 1 })
	b.catalogue.Set([]mcp.Entry{more, {ID: "2", Name: "hub", Server: echo, Tools: tools("x")}})
	equal(t, "a server", e.next(t), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	b.Broadcast("1", "notifications/marker", nil)
	equal(t, "nothing else", e.next(t), `{"jsonrpc":"2.0","method":"notifications/marker"}`)
}

// Progress, cancellation and questions go through call-tool as they do without it.
func TestSDKClientsCallThroughCallTool(t *testing.T) {
	asks := serverFunc(func(ctx context.Context, req mcp.Request) (json.RawMessage, error) {
		if req.Progress == nil {
			return nil, wire.Errorf(-7, "no progress is wanted")
		}
		req.Progress(json.RawMessage(`{"progress":1}`))
		answer, err := req.Client.Request(ctx, "elicitation/create",
			json.RawMessage(`{"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`))
		if err != nil {
			return nil, err
		}
		return json.RawMessage(`{"content":[],"structuredContent":` + string(answer) + `}`), nil
	})
	for _, revision := range eras {
		t.Run(revision, func(t *testing.T) {
			b := compactBed(t, mcp.Entry{ID: "s", Name: "s", Server: asks, Tools: tools("t")})
			progress := make(chan struct{}, 1)
			session := connect(t, b, revision, &sdk.ClientOptions{
				ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"name": "me"}}, nil
				},
				ProgressNotificationHandler: func(context.Context, *sdk.ProgressNotificationClientRequest) { progress <- struct{}{} },
			})
			list, err := session.ListTools(context.Background(), nil)
			if err != nil || len(list.Tools) != 2 {
				t.Fatalf("%v %v", list, err)
			}
			params := &sdk.CallToolParams{Name: "call-tool", Arguments: map[string]any{"name": "s__t"}}
			params.SetProgressToken("mine")
			result, err := session.CallTool(context.Background(), params)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := json.Marshal(result.StructuredContent)
			equal(t, "the answer", string(got), `{"action":"accept","content":{"name":"me"}}`)
			<-progress
		})
	}
}
