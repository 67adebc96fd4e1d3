package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/traposd/traposd/mcp"
)

func TestPlainPOSTsNeedNoSession(t *testing.T) {
	b := newBed(t, mcp.Options{Name: "traposd", Instructions: "Read this."},
		mcp.Entry{ID: "s", Name: "s", Server: echo, Tools: tools("t"), Instructions: "And that."})
	for _, accept := range []string{"", "application/json", "*/*", acceptBoth} {
		a := b.post(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}`, "Accept", accept)
		equal(t, "initialize", a.body, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{"listChanged":true}},`+
			`"serverInfo":{"name":"traposd","version":"1.2.3"},"instructions":"Read this.\n\n# s\n\nAnd that."}}`)
		a = b.post(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Accept", accept)
		equal(t, "initialized", a.status, http.StatusAccepted)
		equal(t, "its body", a.body, "")
		a = b.post(t, `{"jsonrpc":"2.0","id":"x","method":"tools/list"}`, "Accept", accept)
		equal(t, "tools/list", a.body, `{"jsonrpc":"2.0","id":"x","result":{"tools":[{"name":"s__t","inputSchema":{"type":"object"}}]}}`)
		equal(t, "its type", a.header.Get("Content-Type"), "application/json")
		a = b.post(t, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"s__t","arguments":{}}}`, "Accept", accept)
		equal(t, "tools/call", a.body, `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"ok"}],`+
			`"structuredContent":{"method":"tools/call","params":{"name":"t","arguments":{}}}}}`)
		a = b.post(t, `{"jsonrpc":"2.0","id":3,"method":"ping"}`, "Accept", accept)
		equal(t, "ping", a.body, `{"jsonrpc":"2.0","id":3,"result":{}}`)
	}
}

func TestRevisionsAreNegotiated(t *testing.T) {
	b := newBed(t, mcp.Options{})
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25", "": "2025-11-25",
	} {
		a := b.post(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+asked+`"}}`)
		if !strings.Contains(a.body, `"protocolVersion":"`+want+`"`) {
			t.Errorf("asked for %q: %s", asked, a.body)
		}
	}
}

func TestEverythingPassesThroughAsItIs(t *testing.T) {
	const result = `{ "content" : [ {"type":"hologram","n":9007199254740993,"f":1.0,"e":1e400} ],
		"structuredContent": [1.50, null, "\u00e9\/"], "isError":false, "future":{"a":[ ]}, "_meta":{"k":-0} }`
	const arguments = `{"big":12345678901234567890,"f":1.0,"s":"\u0041\/","nested":{"name":"not this one","_meta":{"progressToken":3}}}`
	got := make(chan string, 1)
	b := newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Tools: []mcp.Definition{{
		Name: "t", Raw: json.RawMessage(`{ "icons":[], "name" : "t", "x-unknown": 1.0, "inputSchema": {"type":["object","null"]} }`),
	}}, Server: serverFunc(func(_ context.Context, req mcp.Request) (json.RawMessage, error) {
		got <- string(req.Params)
		return json.RawMessage(result), nil
	})})
	a := b.post(t, `{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{ "arguments" : `+arguments+
		`, "name" : "s__t", "future":1.0, "_meta" : {"progressToken":1, "com.example/x": 2.0} }}`)
	equal(t, "params", <-got, `{ "arguments" : `+arguments+`, "name" : "t", "future":1.0, "_meta" : {"com.example/x": 2.0} }`)
	equal(t, "result", a.body, `{"jsonrpc":"2.0","id":9007199254740993,"result":`+result+`}`)
	a = b.post(t, `{"jsonrpc":"2.0","id":1.0,"method":"tools/list","params":{}}`)
	equal(t, "definition", a.body, `{"jsonrpc":"2.0","id":1.0,"result":{"tools":[`+
		`{ "icons":[], "name" : "s__t", "x-unknown": 1.0, "inputSchema": {"type":["object","null"]} }]}}`)

	session := b.session(t, mcp.Revision20251125, `{}`)
	e := b.stream(t, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__t","_meta":{"progressToken":1}}}`,
		"Accept", "text/event-stream", "Mcp-Session-Id", session)
	equal(t, "params", <-got, `{"name":"t"}`)
	equal(t, "event", e.next(t), `{"jsonrpc":"2.0","id":1,"result":`+result+`}`)
}

func TestErrorsOfMessages(t *testing.T) {
	b := newBed(t, mcp.Options{MaxBodyBytes: 1 << 20}, mcp.Entry{ID: "s", Name: "s", Server: echo, Tools: tools("t")})
	session := b.session(t, mcp.Revision20251125, `{}`)
	for _, test := range []struct {
		name, body string
		headers    []string
		status     int
		want       string // part of the answer
	}{
		{"no JSON", `{`, nil, 400, `"id":null,"error":{"code":-32700,`},
		{"empty", ``, nil, 400, `-32700`},
		{"no message", `{"id":4}`, nil, 400, `"id":4,"error":{"code":-32600,`},
		{"member twice", `{"jsonrpc":"2.0","id":4,"method":"ping","method":"tools/list"}`, nil, 400, `"id":4,"error":{"code":-32600,`},
		{"deep", `{"jsonrpc":"2.0","id":4,"method":"ping","params":{"a":` + strings.Repeat("[", 1e5) + strings.Repeat("]", 1e5) + `}}`, nil, 400, `-32700`},
		{"too large", `{"jsonrpc":"2.0","id":4,"method":"ping","params":{"a":"` + strings.Repeat("x", 1<<20) + `"}}`, nil, 413, `"code":-31014,"message":"the body is larger than 1 MiB`},
		{"not typed", `{"jsonrpc":"2.0","id":4,"method":"ping"}`, []string{"Content-Type", ""}, 415, `Content-Type`},
		{"a form", `{"jsonrpc":"2.0","id":4,"method":"ping"}`, []string{"Content-Type", "", "Content-Type", "text/plain"}, 415, `Content-Type`},
		{"typed in full", `{"jsonrpc":"2.0","id":4,"method":"ping"}`, []string{"Content-Type", "", "Content-Type", "Application/JSON; charset=utf-8"}, 200, `"result":{}`},
		{"unknown method", `{"jsonrpc":"2.0","id":4,"method":"tools/destroy"}`, nil, 200, `{"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"method not found: \"tools/destroy\""}}`},
		{"method of another era", `{"jsonrpc":"2.0","id":4,"method":"server/discover"}`, nil, 200, `"code":-32601`},
		{"not declared", `{"jsonrpc":"2.0","id":4,"method":"prompts/list"}`, nil, 200, `"code":-32601`},
		{"not declared", `{"jsonrpc":"2.0","id":4,"method":"logging/setLevel","params":{"level":"info"}}`, nil, 200, `"code":-32601`},
		{"unknown tool", `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"s__x\u001b[31m"}}`, nil, 200, `"code":-32602,"message":"unknown tool \"s__x\\x1b[31m\"`},
		{"server's own name", `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"t"}}`, nil, 200, `"code":-32602`},
		{"no name", `{"jsonrpc":"2.0","id":4,"method":"tools/call"}`, nil, 200, `"code":-32602`},
		{"name of another type", `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":7}}`, nil, 200, `"code":-32602`},
		{"cursor", `{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":"2"}}`, nil, 200, `"code":-32602`},
		{"null cursor", `{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":null}}`, nil, 200, `"tools":[`},
		{"unknown session", `{"jsonrpc":"2.0","id":4,"method":"ping"}`, []string{"Mcp-Session-Id", "gone"}, 404, `"code":-31018`},
		{"initialize of an unknown session", `{"jsonrpc":"2.0","id":4,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`, []string{"Mcp-Session-Id", "gone"}, 200, `"result"`},
		{"initialize without a revision", `{"jsonrpc":"2.0","id":4,"method":"initialize","params":{}}`, nil, 200, `"code":-32602`},
		{
			"unknown revision", `{"jsonrpc":"2.0","id":4,"method":"ping"}`,
			[]string{"Mcp-Protocol-Version", "2031-01-01", "Mcp-Session-Id", session},
			400,
			`"code":-32022,"message":"unsupported protocol version \"2031-01-01\"","data":{"requested":"2031-01-01","supported":["2026-07-28","2025-11-25"`,
		},
		{"answer to nothing", `{"jsonrpc":"2.0","id":99,"result":{}}`, []string{"Mcp-Session-Id", session}, 202, ``},
		{"a batch of the wrong revision", `[{"jsonrpc":"2.0","id":4,"method":"ping"}]`, []string{"Mcp-Session-Id", session}, 400, `"code":-32600`},
		{"an empty batch", `[]`, nil, 400, `"code":-32600`},
		{"a broken batch", `[{"jsonrpc":"2.0"`, nil, 400, `"code":-32700`},
		{"a batch of anything", `[1]`, nil, 400, `"code":-32600`},
		{
			"a batch", `[{"jsonrpc":"2.0","id":4,"method":"ping"},{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":"b","method":"nope"}]`, nil, 200,
			`[{"jsonrpc":"2.0","id":4,"result":{}},{"jsonrpc":"2.0","id":"b","error":{"code":-32601,`,
		},
		{"a batch of notifications", `[{"jsonrpc":"2.0","method":"x"}]`, nil, 202, ``},
	} {
		a := b.post(t, test.body, test.headers...)
		if a.status != test.status || !strings.Contains(a.body, test.want) || test.want == "" && a.body != "" {
			t.Errorf("%s:\n got %d %s\nwant %d …%s…", test.name, a.status, a.body, test.status, test.want)
		}
	}
}

func TestMethodsOfHTTP(t *testing.T) {
	b := newBed(t, mcp.Options{})
	session := b.session(t, mcp.Revision20251125, `{}`)
	for _, test := range []struct {
		method  string
		headers []string
		status  int
	}{
		{http.MethodGet, nil, 405},
		{http.MethodGet, []string{"Accept", "text/event-stream"}, 405},
		{http.MethodGet, []string{"Accept", "text/event-stream", "Mcp-Session-Id", "gone"}, 404},
		{http.MethodGet, []string{"Accept", "application/json", "Mcp-Session-Id", session}, 405},
		{http.MethodPut, nil, 405},
		{http.MethodDelete, nil, 405},
		{http.MethodDelete, []string{"Mcp-Session-Id", "gone"}, 404},
		{http.MethodDelete, []string{"Mcp-Session-Id", session}, 204},
		{http.MethodDelete, []string{"Mcp-Session-Id", session}, 404},
	} {
		a := b.send(t, test.method, "", test.headers...)
		if a.status != test.status {
			t.Errorf("%s %v: %d %s, want %d", test.method, test.headers, a.status, a.body, test.status)
		}
		if a.status == http.StatusMethodNotAllowed {
			equal(t, "Allow", a.header.Get("Allow"), "GET, POST, DELETE")
		}
	}
	equal(t, "sessions", len(b.Sessions()), 0)
}

func TestSessionHearsOfChanges(t *testing.T) {
	b := newBed(t, mcp.Options{Declare: mcp.DeclarePrompts}, mcp.Entry{ID: "s", Name: "s", Server: echo, Tools: tools("t")})
	session := b.session(t, mcp.Revision20250618, `{}`)
	e := b.stream(t, http.MethodGet, "", "Mcp-Session-Id", session, "Accept", "text/event-stream")
	const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	marker := func() { b.Broadcast("s", "notifications/marker", nil) }
	const mark = `{"jsonrpc":"2.0","method":"notifications/marker"}`

	b.catalogue.Set([]mcp.Entry{{ID: "s", Name: "s", Server: echo, Tools: tools("t", "u")}})
	equal(t, "a change", e.next(t), changed)
	marker()
	equal(t, "only one", e.next(t), mark)

	if b.catalogue.Set([]mcp.Entry{{ID: "s", Name: "s", Server: echo, Tools: tools("t", "u")}}) {
		t.Error("another server with the same tools counts as a change")
	}
	b.catalogue.Set([]mcp.Entry{{ID: "s", Name: "s", Server: echo, Tools: tools("t", "u"), Prompts: []mcp.Definition{{Name: "p", Raw: json.RawMessage(`{"name":"p"}`)}}}})
	equal(t, "another kind", e.next(t), `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`)
	marker()
	equal(t, "nothing else", e.next(t), mark)

	// What happens while no stream is open is told on the next one, unless the client has listed in between.
	e.close()
	waitFor(t, "the stream's end", func() bool { return b.Sessions()[0].Streams == 0 })
	b.catalogue.Set([]mcp.Entry{{ID: "s", Name: "s", Server: echo, Tools: tools("t")}})
	e = b.stream(t, http.MethodGet, "", "Mcp-Session-Id", session, "Accept", "text/event-stream")
	first, second := e.next(t), e.next(t)
	equal(t, "missed", fmt.Sprint(first == changed || second == changed, first != second), "true true")
	e.close()
	waitFor(t, "the stream's end", func() bool { return b.Sessions()[0].Streams == 0 })
	b.catalogue.Set([]mcp.Entry{{ID: "s", Name: "s", Server: echo, Tools: tools("t", "v")}})
	b.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Mcp-Session-Id", session)
	e = b.stream(t, http.MethodGet, "", "Mcp-Session-Id", session, "Accept", "text/event-stream")
	marker()
	equal(t, "listed already", e.next(t), mark)
}

func TestStreamsOfASessionAreBounded(t *testing.T) {
	b := newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Server: echo})
	session := b.session(t, mcp.Revision20251125, `{}`)
	open := func() *events {
		return b.stream(t, http.MethodGet, "", "Mcp-Session-Id", session, "Accept", "text/event-stream")
	}
	first := open()
	for range 4 {
		open()
	}
	select {
	case message, ok := <-first.messages:
		if ok {
			t.Errorf("the oldest stream got %s", message)
		}
	case <-time.After(patience):
		t.Error("the oldest stream is still open")
	}
	equal(t, "streams", b.Sessions()[0].Streams, 4)
	newest := open()
	b.Broadcast("s", "notifications/marker", nil)
	equal(t, "the newest gets it", newest.next(t), `{"jsonrpc":"2.0","method":"notifications/marker"}`)
}

// initialize opens a session without any network.
func initialize(t *testing.T, l *mcp.Listener) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp",
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	l.ServeHTTP(w, r)
	equal(t, "status", w.Code, http.StatusOK)
	return w.Header().Get("Mcp-Session-Id")
}

func TestChangesAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		catalogue := mcp.NewCatalogue()
		set := func(names ...string) {
			catalogue.Set([]mcp.Entry{{ID: "s", Name: "s", Server: echo, Tools: tools(names...)}})
		}
		set("t")
		l := mcp.NewListener(mcp.Options{Catalogue: catalogue})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/mcp", nil)
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Mcp-Session-Id", initialize(t, l))
		w := httptest.NewRecorder()
		go l.ServeHTTP(w, r)
		heard := func() int {
			time.Sleep(30 * time.Millisecond) // of the bubble's own clock: longer than changes are gathered
			synctest.Wait()
			return strings.Count(w.Body.String(), "list_changed")
		}
		equal(t, "at first", heard(), 0)
		set("t", "u")
		set("t", "u", "v")
		set("t", "w")
		equal(t, "after three changes", heard(), 1)
		set("t")
		set("t", "w")
		equal(t, "there and back again", heard(), 1)
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestSessionsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mcp.NewListener(mcp.Options{SessionIdle: time.Hour, MaxSessions: 3})
		for range 5 {
			initialize(t, l)
			time.Sleep(time.Second) // of the bubble's own clock
		}
		equal(t, "sessions", len(l.Sessions()), 3)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		equal(t, "sessions", len(l.Sessions()), 0)
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
