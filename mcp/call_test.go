package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
)

// hanging is a server whose calls last until they are cancelled.
type hanging struct {
	started chan struct{}
	ended   chan error
}

func newHanging() *hanging {
	return &hanging{started: make(chan struct{}, 10), ended: make(chan error, 10)}
}

func (h *hanging) Call(ctx context.Context, req mcp.Request) (json.RawMessage, error) {
	if req.Progress != nil {
		req.Progress(json.RawMessage(`{"progress":1}`))
	}
	h.started <- struct{}{}
	<-ctx.Done()
	h.ended <- context.Cause(ctx)
	return nil, context.Cause(ctx)
}

func (h *hanging) waitEnded(t *testing.T, want string) {
	t.Helper()
	select {
	case err := <-h.ended:
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the call ended with %v, want %s", err, want)
		}
	case <-time.After(patience):
		t.Error("the call was not cancelled")
	}
}

func TestCallsAreCancelled(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":"c1","method":"tools/call","params":{"name":"s__t","_meta":{"progressToken":0}}}`
	start := func(t *testing.T) (b *bed, h *hanging, session string, stream *events) {
		h = newHanging()
		b = newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Server: h, Tools: tools("t")})
		session = b.session(t, mcp.Revision20251125, `{}`)
		stream = b.stream(t, http.MethodPost, call, "Mcp-Session-Id", session, "Accept", acceptBoth)
		equal(t, "progress", stream.next(t), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":0}}`)
		<-h.started
		return b, h, session, stream
	}
	t.Run("by a notification", func(t *testing.T) {
		b, h, session, stream := start(t)
		other := b.session(t, mcp.Revision20251125, `{}`)
		b.post(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c1"}}`, "Mcp-Session-Id", other)
		b.post(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c2"}}`, "Mcp-Session-Id", session)
		b.post(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c1"}}`, "Mcp-Session-Id", session)
		h.waitEnded(t, "cancelled by the client")
		equal(t, "answer", stream.next(t), `{"jsonrpc":"2.0","id":"c1","error":{"code":-31013,"message":"cancelled: cancelled by the client"}}`)
	})
	t.Run("by closing the response", func(t *testing.T) {
		_, h, _, stream := start(t)
		stream.close()
		h.waitEnded(t, "canceled")
	})
	t.Run("by ending the session", func(t *testing.T) {
		b, h, session, _ := start(t)
		b.send(t, http.MethodDelete, "", "Mcp-Session-Id", session)
		h.waitEnded(t, "session has ended")
	})
	t.Run("by stopping the service", func(t *testing.T) {
		b, h, _, stream := start(t)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Error(err)
		}
		h.waitEnded(t, "stopping")
		equal(t, "answer", stream.next(t), `{"jsonrpc":"2.0","id":"c1","error":{"code":-31013,"message":"cancelled: the service is stopping"}}`)
		a := b.post(t, call)
		equal(t, "afterwards", a.status, http.StatusServiceUnavailable)
	})
	t.Run("by losing a client that waits for plain JSON", func(t *testing.T) {
		h := newHanging()
		b := newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Server: h, Tools: tools("t")})
		ctx, cancel := context.WithCancel(context.Background())
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url, strings.NewReader(call))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		go func() {
			<-h.started
			cancel()
		}()
		if response, err := b.client.Do(request); err == nil {
			_ = response.Body.Close()
			t.Error("an answer came")
		}
		h.waitEnded(t, "canceled")
	})
}

func TestFailuresOfServers(t *testing.T) {
	failure := make(chan error, 1)
	b := newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Tools: tools("t"), Server: serverFunc(
		func(context.Context, mcp.Request) (json.RawMessage, error) {
			err := <-failure
			if err == nil {
				panic("boom")
			}
			return nil, err
		})})
	withData := wire.Errorf(-32042, "see there")
	withData.Data = json.RawMessage(`{"n":1.0}`)
	for _, test := range []struct {
		err  error
		want string
	}{
		{withData, `{"code":-32042,"message":"see there","data":{"n":1.0}}`},
		{fmt.Errorf("wrapped: %w", wire.Errorf(mcp.CodeServerDown, "server s exited (code 7)")), `{"code":-31011,"message":"server s exited (code 7)"}`},
		{wire.Errorf(mcp.CodeResourceNotFound, "none"), `{"code":-32002,"message":"none"}`},
		{errors.New("odd"), `{"code":-32603,"message":"odd"}`},
		{nil, `{"code":-32603,"message":"internal error"}`},
	} {
		failure <- test.err
		a := b.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__t"}}`)
		equal(t, "failure", a.body, `{"jsonrpc":"2.0","id":1,"error":`+test.want+`}`)
	}
	failure <- wire.Errorf(mcp.CodeResourceNotFound, "none")
	a := b.modern(t, "1", "tools/call", `"name":"s__t",`, "Mcp-Name", "s__t")
	equal(t, "the older code, in 2026-07-28", a.body, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"none"}}`)
}

func TestClientsAreAskedOnlyWhatTheyCan(t *testing.T) {
	asks := serverFunc(func(ctx context.Context, req mcp.Request) (json.RawMessage, error) {
		method, _ := wire.Get(req.Params, "arguments")
		name, _ := wire.Get(method, "method")
		text, _ := wire.String(name)
		params, _ := wire.Get(method, "params")
		return req.Client.Request(ctx, text, params)
	})
	b := newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Tools: tools("t"), Server: asks})
	for _, test := range []struct{ capabilities, method, params, accept string }{
		{`{}`, "sampling/createMessage", `{}`, acceptBoth},
		{`{"sampling":{}}`, "elicitation/create", `{}`, acceptBoth},
		{`{"elicitation":{}}`, "elicitation/create", `{"mode":"url"}`, acceptBoth},
		{`{"sampling":{}}`, "tools/call", `{}`, acceptBoth},
		{`{"roots":{}}`, "roots/list", `null`, "application/json"},
	} {
		session := b.session(t, mcp.Revision20251125, test.capabilities)
		a := b.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__t","arguments":{"method":"`+test.method+`","params":`+test.params+`}}}`,
			"Mcp-Session-Id", session, "Accept", test.accept)
		if !strings.Contains(a.body, `"code":-31015`) {
			t.Errorf("%s of a client with %s: %s", test.method, test.capabilities, a.body)
		}
	}

	session := b.session(t, mcp.Revision20251125, `{"elicitation":{"form":{},"url":{}}}`)
	e := b.stream(t, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__t","arguments":{"method":"elicitation/create","params":{"mode":"url","n":1.0}}}}`,
		"Mcp-Session-Id", session, "Accept", acceptBoth)
	equal(t, "asked", e.next(t), `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","n":1.0}}`)
	b.post(t, `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","n":9007199254740993}}`, "Mcp-Session-Id", session)
	equal(t, "answered", e.next(t), `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","n":9007199254740993}}`)

	e = b.stream(t, http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"s__t","arguments":{"method":"ping","params":{}}}}`,
		"Mcp-Session-Id", session, "Accept", acceptBoth)
	equal(t, "asked", e.next(t), `{"jsonrpc":"2.0","id":2,"method":"ping","params":{}}`)
	b.post(t, `{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}`, "Mcp-Session-Id", session)
	equal(t, "refused", e.next(t), `{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}`)
}

func TestLongCallsShowLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		catalogue := mcp.NewCatalogue()
		catalogue.Set([]mcp.Entry{{ID: "s", Name: "s", Tools: tools("t"), Server: serverFunc(
			func(context.Context, mcp.Request) (json.RawMessage, error) {
				<-release
				return json.RawMessage(`{}`), nil
			})}})
		l := mcp.NewListener(mcp.Options{Catalogue: catalogue})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp",
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__t"}}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", acceptBoth)
		w := httptest.NewRecorder()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			l.ServeHTTP(w, r)
		}()
		time.Sleep(101 * time.Second) // of the bubble's own clock
		synctest.Wait()
		equal(t, "type", w.Header().Get("Content-Type"), "text/event-stream")
		equal(t, "signs of life", strings.Count(w.Body.String(), ":\n\n"), 4)
		close(release)
		<-ended
		if !strings.HasSuffix(w.Body.String(), "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n") {
			t.Errorf("the answer is %q", w.Body.String())
		}
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestSlowReadersBlockNobody(t *testing.T) {
	big := strings.Repeat("x", 100<<10)
	flooded := make(chan struct{})
	b := newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Tools: tools("t"), Server: serverFunc(
		func(_ context.Context, req mcp.Request) (json.RawMessage, error) {
			for range 300 { // 30 MB, of which the bounds keep 8
				req.Client.Notify("notifications/x", json.RawMessage(`{"x":"`+big+`"}`))
			}
			close(flooded)
			return json.RawMessage(`{"last":1}`), nil
		})})
	session := b.session(t, mcp.Revision20251125, `{}`)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	response := b.open(ctx, t, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__t"}}`,
		"Mcp-Session-Id", session, "Accept", acceptBoth)
	<-flooded // while nothing is read
	messages := make(chan string, 400)
	readEvents(response.Body, messages)
	_ = response.Body.Close()
	close(messages)
	var last string
	for last = range messages {
		continue
	}
	equal(t, "the last message", last, `{"jsonrpc":"2.0","id":1,"result":{"last":1}}`)
}

func TestRequestIDsAreNotUsedTwiceAtOneTime(t *testing.T) {
	h := newHanging()
	b := newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Server: h, Tools: tools("t")})
	session := b.session(t, mcp.Revision20251125, `{}`)
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__t","_meta":{"progressToken":0}}}`
	b.stream(t, http.MethodPost, call, "Mcp-Session-Id", session, "Accept", acceptBoth)
	<-h.started
	a := b.post(t, call, "Mcp-Session-Id", session)
	if !strings.Contains(a.body, `"code":-32600`) {
		t.Errorf("the same id again: %s", a.body)
	}
	equal(t, "calls", b.Sessions()[0].Calls, 1)
}
