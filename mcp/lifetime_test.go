package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/traposd/traposd/mcp"
)

// A client that comes back after a restart with the id that it had gets a new session, not an error.
func TestInitializeWithAStaleSessionIsANewOne(t *testing.T) {
	b := newBed(t, mcp.Options{})
	const body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
	for _, stale := range []string{"gone", b.session(t, mcp.Revision20251125, `{}`)} {
		a := b.post(t, body, "Mcp-Session-Id", stale, "Mcp-Protocol-Version", mcp.Revision20251125)
		id := a.header.Get("Mcp-Session-Id")
		if a.status != http.StatusOK || id == "" || id == stale {
			t.Errorf("with %s: %d, session %s", stale, a.status, id)
		}
	}
	a := b.post(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Session-Id", "gone")
	if a.status != http.StatusNotFound || !strings.Contains(a.body, `"code":-31018,"message":"unknown session`) {
		t.Errorf("anything else with a stale session: %d %s", a.status, a.body)
	}
}

// listening opens the stream of a session without any network; end ends it.
func listening(ctx context.Context, l *mcp.Listener, session string) (w *httptest.ResponseRecorder, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/mcp", http.NoBody)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Mcp-Session-Id", session)
	w = httptest.NewRecorder()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.ServeHTTP(w, r)
	}()
	return w, func() {
		cancel()
		<-ended
	}
}

func TestStreamsShowLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mcp.NewListener(mcp.Options{})
		w, end := listening(t.Context(), l, initialize(t, l))
		time.Sleep(76 * time.Second) // of the bubble's own clock
		synctest.Wait()
		equal(t, "signs of life, the first at once and one every 25 s", strings.Count(w.Body.String(), ":\n\n"), 4)
		end()
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A session with a stream neither expires nor makes room for another one, and its time begins when the stream has ended.
func TestSessionsInUseStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := mcp.NewListener(mcp.Options{SessionIdle: time.Hour, MaxSessions: 2})
		used, idle := initialize(t, l), initialize(t, l)
		_, end := listening(t.Context(), l, used)
		_, endOther := listening(t.Context(), l, idle)
		synctest.Wait()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp",
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		l.ServeHTTP(w, r)
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"code":-31016,`) {
			t.Errorf("a third session: %d %s", w.Code, w.Body)
		}
		endOther()
		initialize(t, l) // takes the place of the idle one
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		equal(t, "sessions", len(l.Sessions()), 1)
		equal(t, "streams", l.Sessions()[0].Streams, 1)
		end()
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		equal(t, "sessions within the hour", len(l.Sessions()), 1)
		time.Sleep(time.Hour)
		synctest.Wait()
		equal(t, "sessions after it", len(l.Sessions()), 0)
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// What changes at a client's roots is taken and goes nowhere: packaging/doc/listener.md says why.
func TestChangedRootsEndHere(t *testing.T) {
	called := make(chan string, 1)
	b := newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Tools: tools("t"), Server: serverFunc(
		func(_ context.Context, req mcp.Request) (json.RawMessage, error) {
			called <- req.Method
			return json.RawMessage(`{}`), nil
		})})
	session := b.session(t, mcp.Revision20251125, `{"roots":{"listChanged":true}}`)
	equal(t, "status", b.post(t, `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, "Mcp-Session-Id", session).status, http.StatusAccepted)
	b.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__t"}}`, "Mcp-Session-Id", session)
	equal(t, "what the server got first", <-called, "tools/call")
}
