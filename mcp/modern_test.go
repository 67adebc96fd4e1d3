package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/traposd/traposd/mcp"
)

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"m","version":"2"},"io.modelcontextprotocol/clientCapabilities":{}}`

// modern is a request of revision 2026-07-28 with its headers; params are further members, each ending in a comma.
func modern(id, method, params string, more ...string) (body string, headers []string) {
	body = `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params + modernMeta + `}}`
	return body, append([]string{"Accept", acceptBoth, "Mcp-Protocol-Version", mcp.Revision20260728, "Mcp-Method", method}, more...)
}

func (b *bed) modern(t *testing.T, id, method, params string, more ...string) answer {
	t.Helper()
	body, headers := modern(id, method, params, more...)
	return b.post(t, body, headers...)
}

func TestModernRequests(t *testing.T) {
	got := make(chan mcp.Request, 1)
	b := newBed(t, mcp.Options{Name: "traposd", Instructions: "Hello."}, mcp.Entry{
		ID: "s", Name: "s", Tools: tools("t"), Capabilities: json.RawMessage(`{"prompts":{},"resources":{"subscribe":true}}`),
		Resources: []mcp.Definition{{Name: "a:1", Raw: json.RawMessage(`{"uri":"a:1","name":"one"}`)}},
		Server: serverFunc(func(_ context.Context, req mcp.Request) (json.RawMessage, error) {
			got <- req
			switch req.Method {
			case "resources/read":
				return json.RawMessage(`{"contents":[]}`), nil
			case "prompts/get":
				return json.RawMessage(`{"messages":[],"resultType":"complete","n":1.0}`), nil
			}
			return json.RawMessage(`{"content":[]}`), nil
		}),
	})
	a := b.modern(t, "1", "server/discover", "")
	equal(t, "discover", a.body, `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],`+
		`"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true}},`+
		`"instructions":"Hello.","resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"traposd","version":"1.2.3"}}}}`)
	a = b.modern(t, "2", "tools/list", "", "Mcp-Session-Id", "ignored")
	equal(t, "tools/list", a.body, `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"s__t","inputSchema":{"type":"object"}}],`+
		`"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"traposd","version":"1.2.3"}}}}`)
	equal(t, "session", a.header.Get("Mcp-Session-Id"), "")

	a = b.modern(t, "3", "tools/call", `"name":"s__t","arguments":{"n":1.0},`, "Mcp-Name", "s__t")
	equal(t, "tools/call", a.body, `{"jsonrpc":"2.0","id":3,"result":{"content":[],"resultType":"complete"}}`)
	request := <-got
	equal(t, "params", string(request.Params), `{"name":"t","arguments":{"n":1.0},"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}`)
	equal(t, "client", request.Client.Name(), "m/2")
	equal(t, "capabilities", string(request.Client.Capabilities()), "{}")
	a = b.modern(t, "4", "resources/read", `"uri":"a:1",`, "Mcp-Name", "=?base64?YTox?=")
	equal(t, "resources/read", a.body, `{"jsonrpc":"2.0","id":4,"result":{"contents":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}}`)
	<-got
	a = b.modern(t, "5", "prompts/get", `"name":"none",`, "Mcp-Name", "none")
	equal(t, "prompts/get", a.status, http.StatusBadRequest)
	equal(t, "sessions", len(b.Sessions()), 0)
}

func TestModernRefusals(t *testing.T) {
	b := newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Server: echo, Tools: tools("t")})
	call := `"name":"s__t",`
	for _, test := range []struct {
		name         string
		method, body string // of the message; an empty body stands for the usual one of the method with these params:
		params       string
		headers      []string // beside or instead of the usual ones
		status       int
		want         string
	}{
		{"well", "tools/call", "", call, []string{"Mcp-Name", "s__t"}, 200, `"result"`},
		{"no name", "tools/call", "", call, nil, 400, `"code":-32020`},
		{"another name", "tools/call", "", call, []string{"Mcp-Name", "s__u"}, 400, `"code":-32020,"message":"header Mcp-Name is \"s__u\", but the body says \"s__t\""`},
		{"two names", "tools/call", "", call, []string{"Mcp-Name", "s__t", "Mcp-Name", "s__t"}, 400, `"code":-32020`},
		{"bad base64", "tools/call", "", call, []string{"Mcp-Name", "=?base64?*?="}, 400, `"code":-32020`},
		{"a name that is not ASCII", "tools/call", "", call, []string{"Mcp-Name", "s__té"}, 400, `"code":-32020`},
		{"another method", "tools/list", "", "", []string{"Mcp-Method", "", "Mcp-Method", "tools/call"}, 400, `"code":-32020`},
		{"a method in another case", "tools/list", "", "", []string{"Mcp-Method", "", "Mcp-Method", "Tools/List"}, 400, `"code":-32020`},
		{"no method", "tools/list", "", "", []string{"Mcp-Method", ""}, 400, `"code":-32020`},
		{"no revision in the header", "tools/list", "", "", []string{"Mcp-Protocol-Version", ""}, 400, `"code":-32020`},
		{"another revision in the header", "tools/list", "", "", []string{"Mcp-Protocol-Version", "", "Mcp-Protocol-Version", "2025-11-25"}, 400, `"code":-32020`},
		{"no revision in the body", "tools/list", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}}`, "", nil, 400, `"code":-32602`},
		{"no params", "tools/list", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "", nil, 400, `"code":-32602`},
		{"no capabilities", "tools/list", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, "", nil, 400, `"code":-32602`},
		{
			"unsupported revision", "tools/list", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2030-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`, "",
			[]string{"Mcp-Protocol-Version", "", "Mcp-Protocol-Version", "2030-01-01"},
			400, `"id":1,"error":{"code":-32022,"message":"unsupported protocol version \"2030-01-01\"","data":{"requested":"2030-01-01","supported":["2026-07-28",`,
		},
		{"unknown method", "tools/x", "", "", nil, 404, `"code":-32601`},
		{"a method of sessions", "ping", "", "", nil, 404, `"code":-32601`},
		{"initialize", "initialize", "", "", nil, 404, `"code":-32601`},
		{"not declared", "prompts/list", "", "", nil, 404, `"code":-32601`},
		{"unknown tool", "tools/call", "", `"name":"x",`, []string{"Mcp-Name", "x"}, 400, `"code":-32602`},
		{"listen to nothing", "subscriptions/listen", "", "", nil, 400, `"code":-32602`},
		{"a response", "x", `{"jsonrpc":"2.0","id":1,"result":{}}`, "", nil, 400, `"code":-32600`},
		{"a notification", "x", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "", nil, 202, ""},
		{"a batch", "x", `[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`, "", nil, 400, `"code":-32600`},
	} {
		body, headers := modern("1", test.method, test.params)
		if test.body != "" {
			body = test.body
		}
		a := b.post(t, body, append(headers, test.headers...)...)
		if a.status != test.status || !strings.Contains(a.body, test.want) {
			t.Errorf("%s:\n got %d %s\nwant %d …%s…", test.name, a.status, a.body, test.status, test.want)
		}
	}
}

func TestModernClientsListen(t *testing.T) {
	calls := make(chan string, 100)
	entry := mcp.Entry{
		ID: "s", Name: "s", Tools: tools("t"), Capabilities: json.RawMessage(`{"resources":{"subscribe":true}}`),
		Resources: []mcp.Definition{{Name: "a:1", Raw: json.RawMessage(`{"uri":"a:1"}`)}},
		Server: serverFunc(func(_ context.Context, req mcp.Request) (json.RawMessage, error) {
			calls <- req.Method + string(req.Params)
			return json.RawMessage(`{}`), nil
		}),
	}
	b := newBed(t, mcp.Options{}, entry)
	body, headers := modern(`"sub"`, "subscriptions/listen",
		`"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["a:1"]},`)
	e := b.stream(t, http.MethodPost, body, headers...)
	equal(t, "acknowledged", e.next(t), `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":`+
		`{"toolsListChanged":true,"resourceSubscriptions":["a:1"]},"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"}}}`)
	equal(t, "subscribed upstream", <-calls, `resources/subscribe{"uri":"a:1"}`)
	waitFor(t, "the listener's own list", func() bool { return len(b.Sessions()) == 1 })

	entry.Tools = tools("t", "u")
	b.catalogue.Set([]mcp.Entry{entry})
	equal(t, "changed", e.next(t), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"}}}`)
	entry.Resources = append(entry.Resources, mcp.Definition{Name: "a:2", Raw: json.RawMessage(`{"uri":"a:2"}`)})
	b.catalogue.Set([]mcp.Entry{entry}) // not asked for
	b.Broadcast("s", "notifications/message", json.RawMessage(`{"level":"error","data":"x"}`))
	b.Broadcast("s", "notifications/resources/updated", json.RawMessage(`{"uri":"a:2"}`))
	b.Broadcast("s", "notifications/resources/updated", json.RawMessage(`{"uri":"a:1","n":1.0}`))
	equal(t, "updated", e.next(t), `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:1","n":1.0,"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"}}}`)
	e.close()
	equal(t, "unsubscribed upstream", <-calls, `resources/unsubscribe{"uri":"a:1"}`)

	body, headers = modern("7", "subscriptions/listen", `"notifications":{"toolsListChanged":true},`)
	e = b.stream(t, http.MethodPost, body, headers...)
	e.next(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		t.Error(err)
	}
	equal(t, "the service's end", e.next(t), `{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":7}}}`)
}

func TestModernLogMessagesAreAskedForByRequest(t *testing.T) {
	b := newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Tools: tools("t"), Server: serverFunc(
		func(_ context.Context, req mcp.Request) (json.RawMessage, error) {
			req.Client.Notify("notifications/message", json.RawMessage(`{"level":"info","data":1}`))
			req.Client.Notify("notifications/message", json.RawMessage(`{"level":"error","data":2}`))
			return json.RawMessage(`{}`), nil
		})})
	body, headers := modern("1", "tools/call", `"name":"s__t",`, "Mcp-Name", "s__t")
	equal(t, "none", b.post(t, body, headers...).body, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`)
	body = strings.Replace(body, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"warning",`, 1)
	e := b.stream(t, http.MethodPost, body, headers...)
	equal(t, "the grave one", e.next(t), `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":2}}`)
	equal(t, "result", e.next(t), `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`)
}
