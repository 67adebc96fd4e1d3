package gateway

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of the tests.
const patience = 10 * time.Second

const secret = "correct horse"

// bed is a gateway behind a real listener.
type bed struct {
	t   testing.TB
	g   *Gateway
	url string
}

func newBed(t testing.TB, o Options) *bed {
	t.Helper()
	if o.Password == nil {
		o.Password = func() string { return secret }
	}
	g := New(o)
	srv := httptest.NewServer(g)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := g.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		srv.Close()
		if n := g.pending.Load(); n != 0 {
			t.Errorf("%d connections are still counted as pending", n)
		}
		if n := g.assembling.Load(); n != 0 {
			t.Errorf("%d bytes are still counted as being assembled", n)
		}
	})
	return &bed{t: t, g: g, url: "ws" + strings.TrimPrefix(srv.URL, "http") + Path}
}

// peer is a computer as seen from the wire.
type peer struct {
	t    testing.TB
	conn *websocket.Conn
	mu   sync.Mutex // one writer at a time
}

type frame map[string]any

func (b *bed) dial() *peer {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, resp, err := websocket.DefaultDialer.DialContext(ctx, b.url, nil)
	if err != nil {
		b.t.Fatalf("dial: %v", err)
	}
	_ = resp.Body.Close()
	p := &peer{t: b.t, conn: conn}
	b.t.Cleanup(func() { _ = conn.Close() })
	return p
}

func helloFrame(id int, label string) frame {
	return frame{
		"type": "hello", "protocol": 1, "password": secret, "networkId": "default", "computerId": id, "label": label,
		"boot": "boot-1", "serves": []string{"exec-lua", "write-file"}, "agent": "test",
	}
}

// join connects a computer and waits until it is registered. change edits its hello.
func (b *bed) join(id int, label string, change ...func(frame)) *peer {
	b.t.Helper()
	p := b.dial()
	h := helloFrame(id, label)
	for _, f := range change {
		f(h)
	}
	p.send(h)
	if f := p.next(); f["type"] != "hello_ok" {
		b.t.Fatalf("got %v, want hello_ok", f)
	}
	return p
}

func boot(name string) func(frame) { return func(f frame) { f["boot"] = name } }

func network(name string) func(frame) { return func(f frame) { f["networkId"] = name } }

func (p *peer) send(f any) {
	p.t.Helper()
	b, err := json.Marshal(f)
	if err != nil {
		p.t.Fatal(err)
	}
	p.sendText(b)
}

func (p *peer) sendText(b []byte) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.conn.WriteMessage(websocket.TextMessage, b); err != nil {
		p.t.Errorf("write: %v", err)
	}
}

func (p *peer) read() (frame, error) {
	_ = p.conn.SetReadDeadline(time.Now().Add(patience))
	_, b, err := p.conn.ReadMessage()
	if err != nil {
		return nil, err
	}
	if !isASCII(b) {
		return nil, fmt.Errorf("a frame is not ascii")
	}
	var f frame
	return f, json.Unmarshal(b, &f)
}

func decode(b []byte) frame {
	var f frame
	if json.Unmarshal(b, &f) != nil {
		return nil
	}
	return f
}

func (p *peer) next() frame {
	p.t.Helper()
	f, err := p.read()
	if err != nil {
		p.t.Fatalf("read: %v", err)
	}
	return f
}

// nextOf reads until a frame of the type comes.
func (p *peer) nextOf(kind string) frame {
	p.t.Helper()
	for {
		if f := p.next(); f["type"] == kind {
			return f
		}
	}
}

// closed reads until the connection ends, and returns the close code and its reason.
func (p *peer) closed() (int, string) {
	p.t.Helper()
	for {
		_, err := p.read()
		var e *websocket.CloseError
		if errors.As(err, &e) {
			return e.Code, e.Text
		}
		if err != nil {
			p.t.Fatalf("read: %v", err)
		}
	}
}

func (p *peer) ok(id any, payload any) {
	p.send(frame{"type": "computer_response", "id": id, "ok": true, "payload": payload})
}

type result struct {
	payload json.RawMessage
	err     error
}

// ask sends a request to a computer of network default, in the background.
func (b *bed) ask(ctx context.Context, traposID, kind, payload string) <-chan result {
	out := make(chan result, 1)
	go func() {
		p, err := b.g.Registry().Request(ctx, "default", traposID, kind, json.RawMessage(payload))
		out <- result{p, err}
	}()
	return out
}

func (b *bed) await(ch <-chan result) result {
	b.t.Helper()
	select {
	case r := <-ch:
		return r
	case <-time.After(patience):
		b.t.Fatal("no result")
		return result{}
	}
}

func wantCode(t testing.TB, err error, code Code) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want code %s", err, code)
	}
	if !errors.Is(err, &Error{Code: code}) {
		t.Fatalf("%v does not match its sentinel", err)
	}
}

// eventually polls, with a bound.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
		<-tick.C
	}
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestRequestRoundTrip(t *testing.T) {
	b := newBed(t, Options{})
	p := b.join(12, "miner")
	done := b.ask(t.Context(), "12:miner", "exec-lua", `{"source":"é\u007f😀"}`)
	req := p.nextOf("server_request")
	if req["request"] != "exec-lua" || req["payload"].(map[string]any)["source"] != "é\u007f😀" {
		t.Fatalf("got %v", req)
	}
	if ms := req["timeoutMs"].(float64); ms < 50_000 || ms > 60_000 {
		t.Errorf("timeoutMs is %v without a deadline, want 60000 less what has passed", ms)
	}
	p.ok(req["id"], frame{"ok": true})
	if r := b.await(done); r.err != nil || string(r.payload) != `{"ok":true}` {
		t.Fatalf("got %s, %v", r.payload, r.err)
	}
}

func TestServeHTTPGuard(t *testing.T) {
	files := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("lua")) })
	g := New(Options{Files: files})
	get := func(path string, header http.Header) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header = header
		g.ServeHTTP(w, r)
		return w
	}
	upgrade := http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Origin": {"http://localhost"}}
	if w := get(Path, upgrade); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "web pages") {
		t.Errorf("with an Origin: %d %s", w.Code, w.Body)
	}
	if w := get(Path, http.Header{}); w.Code != http.StatusUpgradeRequired || !strings.Contains(w.Body.String(), "cloud.url") {
		t.Errorf("without an upgrade: %d %s", w.Code, w.Body)
	}
	if w := get("/install.lua", http.Header{}); w.Body.String() != "lua" {
		t.Errorf("a file: %d %s", w.Code, w.Body)
	}
	g.opts.Files = nil
	if w := get("/install.lua", http.Header{}); w.Code != http.StatusNotFound {
		t.Errorf("no files: %d", w.Code)
	}
}
