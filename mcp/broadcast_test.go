package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/traposd/traposd/mcp"
)

const mark = `{"jsonrpc":"2.0","method":"notifications/marker"}`

func (b *bed) get(t *testing.T, session string) *events {
	t.Helper()
	return b.stream(t, http.MethodGet, "", "Mcp-Session-Id", session, "Accept", "text/event-stream")
}

func TestLogMessagesReachThoseWhoWantThem(t *testing.T) {
	levels := make(chan string, 10)
	b := newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Capabilities: json.RawMessage(`{"logging":{}}`), Server: serverFunc(
		func(_ context.Context, req mcp.Request) (json.RawMessage, error) {
			levels <- req.Method + string(req.Params)
			return json.RawMessage(`{}`), nil
		})}, mcp.Entry{ID: "mute", Name: "mute", Server: echo})
	calm, curious := b.session(t, mcp.Revision20251125, `{}`), b.session(t, mcp.Revision20250326, `{}`)
	for session, level := range map[string]string{calm: "error", curious: "debug"} {
		a := b.post(t, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"`+level+`"}}`, "Mcp-Session-Id", session)
		equal(t, "set", a.body, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	}
	a := b.post(t, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"loud"}}`, "Mcp-Session-Id", calm)
	if !strings.Contains(a.body, `"code":-32602`) {
		t.Errorf("an unknown level: %s", a.body)
	}
	<-levels
	equal(t, "the most talkative", <-levels, `logging/setLevel{"level":"debug"}`)

	calmly, curiously := b.get(t, calm), b.get(t, curious)
	b.Broadcast("s", "notifications/message", json.RawMessage(`{"level":"debug","data":1.0}`))
	b.Broadcast("s", "notifications/message", json.RawMessage(`{"level":"alert","data":2}`))
	b.Broadcast("nobody", "notifications/message", json.RawMessage(`{"level":"alert","data":3}`))
	b.Broadcast("s", "notifications/tools/list_changed", nil)
	b.Broadcast("s", "notifications/progress", nil)
	b.Broadcast("s", "notifications/marker", nil)
	equal(t, "calm", calmly.next(t), `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"alert","data":2}}`)
	equal(t, "calm", calmly.next(t), mark)
	equal(t, "curious", curiously.next(t), `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":1.0}}`)
	equal(t, "curious", curiously.next(t), `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"alert","data":2}}`)
	equal(t, "curious", curiously.next(t), mark)
}

func TestUpdatesReachSubscribers(t *testing.T) {
	calls := make(chan string, 10)
	entry := func(id string) mcp.Entry {
		return mcp.Entry{
			ID: id, Name: id, Capabilities: json.RawMessage(`{"resources":{"subscribe":true}}`),
			Resources: []mcp.Definition{{Name: "a:1", Raw: json.RawMessage(`{"uri":"a:1"}`)}},
			Server: serverFunc(func(_ context.Context, req mcp.Request) (json.RawMessage, error) {
				calls <- id + " " + req.Method + string(req.Params)
				return json.RawMessage(`{}`), nil
			}),
		}
	}
	b := newBed(t, mcp.Options{}, entry("x"), entry("y"))
	first, second := b.session(t, mcp.Revision20251125, `{}`), b.session(t, mcp.Revision20251125, `{}`)
	ask := func(session, method, uri string) {
		t.Helper()
		a := b.post(t, `{"jsonrpc":"2.0","id":1,"method":"resources/`+method+`","params":{"uri":"`+uri+`"}}`, "Mcp-Session-Id", session)
		equal(t, method, a.body, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	}
	ask(first, "subscribe", "a:1")
	equal(t, "upstream", <-calls, `x resources/subscribe{"uri":"a:1"}`)
	ask(first, "subscribe", "a:1") // twice is once
	equal(t, "upstream", <-calls, `x resources/subscribe{"uri":"a:1"}`)
	ask(second, "subscribe", "server:y/a:1")
	equal(t, "upstream", <-calls, `y resources/subscribe{"uri":"a:1"}`)

	one, two := b.get(t, first), b.get(t, second)
	for _, id := range []string{"x", "y"} {
		b.Broadcast(id, "notifications/resources/updated", json.RawMessage(`{"uri":"a:1","from":"`+id+`"}`))
		b.Broadcast(id, "notifications/marker", nil)
	}
	equal(t, "first", one.next(t), `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:1","from":"x"}}`)
	equal(t, "first", one.next(t), mark)
	equal(t, "first", one.next(t), mark)
	equal(t, "second", two.next(t), mark)
	equal(t, "second", two.next(t), `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"server:y/a:1","from":"y"}}`)

	ask(first, "unsubscribe", "a:1")
	equal(t, "upstream", <-calls, `x resources/unsubscribe{"uri":"a:1"}`)
	ask(first, "unsubscribe", "a:1") // nothing to do
	b.send(t, http.MethodDelete, "", "Mcp-Session-Id", second)
	equal(t, "upstream, at the session's end", <-calls, `y resources/unsubscribe{"uri":"a:1"}`)
	a := b.post(t, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:1"}}`)
	if !strings.Contains(a.body, `"code":-32600`) {
		t.Errorf("without a session: %s", a.body)
	}
}

func TestViewsAreApart(t *testing.T) {
	b := newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Server: echo, Tools: tools("t")})
	catalogue := mcp.NewCatalogue()
	catalogue.Set([]mcp.Entry{{ID: "s", Server: echo, Tools: tools("t")}})
	mux := http.NewServeMux()
	mux.Handle("/mcp", b.Listener)
	mux.Handle("/mcp/s/s", b.View(catalogue))
	b.web.Config.Handler = mux
	whole := b.session(t, mcp.Revision20251125, `{}`)
	view := *b
	view.url += "/s/s"
	part := view.session(t, mcp.Revision20251125, `{}`)
	equal(t, "unprefixed", view.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Mcp-Session-Id", part).body,
		`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}`)
	equal(t, "a session of the other", view.post(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Session-Id", whole).status, http.StatusNotFound)
	wholly, partly := b.get(t, whole), view.get(t, part)
	catalogue.Set([]mcp.Entry{{ID: "s", Server: echo, Tools: tools("t", "u")}})
	equal(t, "the view's change", partly.next(t), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	b.Broadcast("s", "notifications/marker", nil)
	equal(t, "none of the whole's", wholly.next(t), mark)
	equal(t, "both hear the server", partly.next(t), mark)

	body, headers := modern("1", "subscriptions/listen", `"notifications":{"toolsListChanged":true},`)
	listening := view.stream(t, http.MethodPost, body, headers...)
	listening.next(t)
	b.Drop(catalogue)
	if result := listening.next(t); !strings.Contains(result, `"resultType":"complete"`) {
		t.Errorf("a stream of the view ends with %s", result)
	}
	for message := range partly.messages {
		t.Errorf("a session of the view got %s", message)
	}
	equal(t, "the view", view.post(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`).status, http.StatusServiceUnavailable)
	equal(t, "the whole", b.post(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`).status, http.StatusOK)
	b.Drop(b.catalogue) // the listener's own stays
	equal(t, "the whole", b.post(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`).status, http.StatusOK)
}
