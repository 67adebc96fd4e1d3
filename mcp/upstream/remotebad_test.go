package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
	"github.com/traposd/traposd/mcpconfig"
)

// fake is a Streamable HTTP server whose every reaction a test can take over.
type fake struct {
	t        *testing.T
	sessions atomic.Int64 // handshakes so far
	gets     atomic.Int64
	dropped  atomic.Bool // the current session is forgotten until the next handshake

	before func(w http.ResponseWriter, r *http.Request, m *wire.Message) bool // true: handled
	get    func(w http.ResponseWriter, r *http.Request)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		f.gets.Add(1)
		if f.get != nil {
			f.get(w, r)
			return
		}
		http.Error(w, "no", http.StatusMethodNotAllowed)
		return
	case http.MethodDelete:
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m, err := wire.Parse(body)
	if err != nil {
		f.t.Errorf("we sent %s: %v", body, err)
		return
	}
	if f.before != nil && f.before(w, r, m) {
		return
	}
	f.usual(w, r, m)
}

func (f *fake) usual(w http.ResponseWriter, r *http.Request, m *wire.Message) {
	if m.Method == "initialize" {
		f.dropped.Store(false)
		w.Header().Set(headerSession, fmt.Sprintf("session-%d", f.sessions.Add(1)))
		answer(w, m, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"f","version":"1"}}`)
		return
	}
	if got := r.Header.Get(headerSession); f.dropped.Load() || got != fmt.Sprintf("session-%d", f.sessions.Load()) {
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	if got := r.Header.Get(headerRevision); got != "2025-06-18" {
		f.t.Errorf("%s came with revision %q", m.Method, got)
	}
	switch m.Method {
	case "tools/list":
		answer(w, m, `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		answer(w, m, `{"content":[{"type":"text","text":"done"}]}`)
	case "ping":
		answer(w, m, `{}`)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func answer(w http.ResponseWriter, m *wire.Message, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(wire.Response(m.ID, json.RawMessage(result)).Append(nil))
}

func startFake(t *testing.T, f *fake, adjust ...func(*Options)) (*bench, string) {
	t.Helper()
	f.t = t
	url := serve(t, f)
	b := start(t, adjust...)
	b.r.Reconcile([]mcpconfig.Server{remoteServer("s", url, mcpconfig.TransportHTTP)})
	return b, url
}

func TestForgottenSessionIsRenewedOnce(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusNotFound, http.StatusBadRequest} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			f := &fake{}
			f.before = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) bool {
				if f.dropped.Load() && m.Method == "tools/call" {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(status)
					_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID provided"}}`)
					return true
				}
				return false
			}
			b, _ := startFake(t, f)
			e := b.offered("s")
			f.dropped.Store(true)
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					if result, err := b.call(e, "t", `{}`); err != nil || text(t, result) != "done" {
						t.Errorf("result %s, error %v", result, err)
					}
				})
			}
			wg.Wait()
			if n := f.sessions.Load(); n != 2 {
				t.Errorf("%d handshakes", n)
			}
			if s := b.status("s"); s.State != StateReady || s.Restarts != 0 {
				t.Errorf("status %+v", s)
			}
		})
	}
}

func TestServerThatForgetsEverySession(t *testing.T) {
	t.Parallel()
	f := &fake{}
	f.before = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) bool {
		if m.Method == "tools/call" {
			http.Error(w, "session not found", http.StatusNotFound)
		}
		return m.Method == "tools/call"
	}
	b, _ := startFake(t, f)
	_, err := b.call(b.offered("s"), "t", `{}`)
	var rpc *wire.Error
	if !errors.As(err, &rpc) || rpc.Code != mcp.CodeServerDown {
		t.Errorf("error %v", err)
	}
	if n := f.sessions.Load(); n != 2 {
		t.Errorf("%d handshakes for one call", n)
	}
}

func TestRefusedStreamIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusMethodNotAllowed, http.StatusNotFound, http.StatusNotAcceptable} {
		f := &fake{get: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", status) }}
		b, _ := startFake(t, f)
		e := b.offered("s")
		for range 3 {
			if _, err := b.call(e, "t", `{}`); err != nil {
				t.Error(err)
			}
		}
		b.await("the stream was asked for", func() bool { return f.gets.Load() > 0 })
		if n := f.gets.Load(); n != 1 {
			t.Errorf("status %d: %d GETs", status, n)
		}
	}
}

func TestRefusedCredentials(t *testing.T) {
	t.Parallel()
	f := &fake{before: func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) bool {
		http.Error(w, "who are you", http.StatusUnauthorized)
		return true
	}}
	b, _ := startFake(t, f)
	if s := b.awaitState("s", StateNeedsLogin); s.Err != "needs authorization" {
		t.Errorf("status %+v", s)
	}
}

func TestThrottle(t *testing.T) {
	t.Parallel()
	var busy atomic.Bool
	f := &fake{}
	f.before = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) bool {
		if busy.Load() || m.Method == "tools/call" {
			w.Header().Set("Retry-After", "120")
			http.Error(w, "slow down", http.StatusTooManyRequests)
			return true
		}
		return false
	}
	b, url := startFake(t, f)
	_, err := b.call(b.offered("s"), "t", `{}`)
	if err == nil || !strings.Contains(err.Error(), "wait 2m0s") {
		t.Errorf("error %v", err)
	}
	busy.Store(true)
	b.r.Reconcile([]mcpconfig.Server{remoteServer("other", url, mcpconfig.TransportHTTP)})
	b.awaitState("other", StateBackingOff)
	for _, e := range b.logs.FilterMessage("server down").All() {
		if after, _ := e.ContextMap()["retry_after"].(time.Duration); after < 120*time.Second {
			t.Errorf("it is tried again after %v", after)
		}
	}
}

func TestNothingOfTheEntryIsShown(t *testing.T) {
	t.Parallel()
	secretive := remoteServer("s", "http://127.0.0.1:1/hush-hush?token=hush-hush", mcpconfig.TransportHTTP)
	other := remoteServer("o", "http://hush-hush.invalid/hush-hush", mcpconfig.TransportSSE)
	third := remoteServer("t", "http://hush%zz-hush", mcpconfig.TransportSSE)
	b := start(t)
	b.r.Reconcile([]mcpconfig.Server{secretive, other, third})
	for _, name := range []string{"s", "o", "t"} {
		s := b.awaitState(name, StateBackingOff)
		if strings.Contains(s.Err, "hush") || strings.Contains(s.Err, "127.0.0.1") || s.Err == "" {
			t.Errorf("status says %q", s.Err)
		}
	}
	if all := b.everythingLogged(); strings.Contains(all, "hush") || strings.Contains(all, "127.0.0.1") {
		t.Error("the url was logged")
	}
}

func TestForeignOrigins(t *testing.T) {
	t.Parallel()
	var leaked atomic.Bool
	foreign := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "" {
			leaked.Store(true)
		}
	}))
	key := []mcpconfig.Header{{Name: "X-Key", Value: mcpconfig.NewSecret("hush-hush")}}
	redirect := remoteServer("redirect", serve(t, http.RedirectHandler(foreign, http.StatusTemporaryRedirect)), mcpconfig.TransportHTTP)
	redirect.Headers = key
	sse := remoteServer("sse", serve(t, http.RedirectHandler(foreign, http.StatusFound)), mcpconfig.TransportSSE)
	sse.Headers = key
	endpoint := remoteServer("endpoint", serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: endpoint\ndata: "+foreign+"/messages\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})), mcpconfig.TransportSSE)
	endpoint.Headers = key
	b := start(t)
	b.r.Reconcile([]mcpconfig.Server{redirect, sse, endpoint})
	for _, name := range []string{"redirect", "sse", "endpoint"} {
		if s := b.awaitState(name, StateBackingOff); !strings.Contains(s.Err, "origin") {
			t.Errorf("status of %s says %q", name, s.Err)
		}
	}
	if leaked.Load() {
		t.Error("a header of the entry went to another origin")
	}
}

func TestRedirectWithinTheOrigin(t *testing.T) {
	t.Parallel()
	f := &fake{t: t}
	mux := http.NewServeMux()
	mux.Handle("/new", f)
	mux.Handle("/", http.RedirectHandler("/new", http.StatusPermanentRedirect))
	b := start(t)
	b.r.Reconcile([]mcpconfig.Server{remoteServer("s", serve(t, mux), mcpconfig.TransportHTTP)})
	if _, err := b.call(b.offered("s"), "t", `{}`); err != nil {
		t.Error(err)
	}
}

func TestURLWithoutType(t *testing.T) {
	t.Parallel()
	f := &fake{}
	b, url := startFake(t, f)
	server := remoteServer("inferred", url, mcpconfig.TransportSSE)
	server.Inferred = true
	b.r.Reconcile([]mcpconfig.Server{server})
	b.offered("inferred")
	if n := b.logged(`write "type": "http"`); n != 1 {
		t.Errorf("said %d times", n)
	}
	dead := remoteServer("dead", serve(t, http.NotFoundHandler()), mcpconfig.TransportSSE)
	dead.Inferred = true
	b.r.Reconcile([]mcpconfig.Server{dead})
	if s := b.awaitState("dead", StateBackingOff); !strings.Contains(s.Err, `no "type"`) {
		t.Errorf("status says %q", s.Err)
	}
}

func TestSilentDeathIsNoticed(t *testing.T) {
	t.Parallel()
	var deaf atomic.Bool
	f := &fake{}
	f.before = func(_ http.ResponseWriter, r *http.Request, _ *wire.Message) bool {
		if deaf.Load() {
			<-r.Context().Done()
		}
		return deaf.Load()
	}
	b, _ := startFake(t, f, func(o *Options) { o.Times.Ping = 100 * time.Millisecond })
	b.offered("s")
	deaf.Store(true)
	b.await("the death is noticed", func() bool { return b.status("s").State != StateReady })
	if got := b.status("s").Err; got != "does not answer any more" {
		t.Errorf("status says %q", got)
	}
	deaf.Store(false)
	b.r.Reconcile([]mcpconfig.Server{remoteServer("s", b.status("s").Source.Path, mcpconfig.TransportHTTP)})
}

func TestBrokenStreamIsResumed(t *testing.T) {
	t.Parallel()
	f := &fake{}
	var waiting atomic.Pointer[wire.Message]
	f.before = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) bool {
		if m.Method != "tools/call" {
			return false
		}
		waiting.Store(m)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": hello\nid: 7\nretry: 10\ndata:\n\n")
		return true
	}
	f.get = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Last-Event-ID") != "7" {
			http.Error(w, "no", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "id: 8\ndata: %s\n\n", wire.Response(waiting.Load().ID, json.RawMessage(`{"content":[{"type":"text","text":"late"}]}`)).Append(nil))
	}
	b, _ := startFake(t, f)
	result, err := b.call(b.offered("s"), "t", `{}`)
	if err != nil || text(t, result) != "late" {
		t.Errorf("result %s, error %v", result, err)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"empty": "", "text": "hello", "other id": `{"jsonrpc":"2.0","id":99999,"result":{}}`, "no result": `{"jsonrpc":"2.0","id":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{}
			f.before = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) bool {
				if m.Method == "tools/call" {
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, body)
				}
				return m.Method == "tools/call"
			}
			b, _ := startFake(t, f)
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			_, err := b.callWith(ctx, b.offered("s"), "t", `{}`, nil, &asker{})
			var rpc *wire.Error
			if !errors.As(err, &rpc) || rpc.Code != mcp.CodeServerDown {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestSSEReconnects(t *testing.T) {
	t.Parallel()
	peer := peers()["sse"]
	var mu sync.Mutex
	var streams []context.CancelFunc
	inner := peer.handler(sdkServer())
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			ctx, cancel := context.WithCancel(r.Context())
			mu.Lock()
			streams = append(streams, cancel)
			mu.Unlock()
			r = r.WithContext(ctx)
		}
		inner.ServeHTTP(w, r)
	}))
	b := start(t)
	b.r.Reconcile([]mcpconfig.Server{remoteServer("s", url, peer.transport)})
	e := b.offered("s")
	mu.Lock()
	streams[0]()
	mu.Unlock()
	b.await("the end is noticed", func() bool { return b.status("s").Restarts == 1 })
	if result, err := b.call(e, "greet", `{"text":"again"}`); err != nil || text(t, result) != "hello again" {
		t.Errorf("result %s, error %v", result, err)
	}
}
