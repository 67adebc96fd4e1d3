package lua

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// patience bounds every wait of these tests: an emulated computer on a busy machine is slow, not stuck.
const patience = time.Minute

const testPassword = "opensesame"

// frame is any frame of the protocol, as both sides of these tests see it.
type frame struct {
	Type       string          `json:"type"`
	ID         string          `json:"id,omitempty"`
	Protocol   int             `json:"protocol,omitempty"`
	Password   string          `json:"password,omitempty"`
	Nonce      string          `json:"nonce,omitempty"`
	Proof      string          `json:"proof,omitempty"`
	NetworkID  string          `json:"networkId,omitempty"`
	ComputerID int             `json:"computerId,omitempty"`
	Label      string          `json:"label,omitempty"`
	LabelB64   []byte          `json:"labelBase64,omitempty"`
	Boot       string          `json:"boot,omitempty"`
	Serves     []string        `json:"serves,omitempty"`
	Agent      string          `json:"agent,omitempty"`
	Types      []string        `json:"types,omitempty"`
	Request    string          `json:"request,omitempty"`
	OK         *bool           `json:"ok,omitempty"`
	Payload    json.RawMessage `json:"payload,omitempty"`
	Error      *frameError     `json:"error,omitempty"`
	TimeoutMs  float64         `json:"timeoutMs,omitempty"`
	T          float64         `json:"t,omitempty"`
	Seq        *int            `json:"seq,omitempty"`
	Last       *bool           `json:"last,omitempty"`
	Data       []byte          `json:"data,omitempty"`
	Code       string          `json:"code,omitempty"`
	Message    string          `json:"message,omitempty"`
	TraposID   string          `json:"traposId,omitempty"`
	Heartbeat  int             `json:"heartbeatSeconds,omitempty"`
	MaxFrame   int             `json:"maxFrameBytes,omitempty"`
	MaxFlight  int             `json:"maxInFlight,omitempty"`
}

type frameError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// testMaxFrame is the frame limit that the test's gateway announces.
const testMaxFrame = 65536

// host is the gateway of a test: it says hello, and hands each computer that got in to peers.
type host struct {
	t      testing.TB
	server *httptest.Server
	peers  chan *peer
	hellos chan frame    // also those that were refused
	greet  chan struct{} // when set, a computer gets its hello_ok once it is closed

	impostor impostor

	open sync.WaitGroup
}

func newHost(t testing.TB) *host {
	t.Helper()
	h := &host{t: t, peers: make(chan *peer, 16), hellos: make(chan frame, 64)}
	mux := http.NewServeMux()
	mux.HandleFunc("/gateway", h.gateway)
	mux.Handle("/", rewritten(Handler("test"), "local GRACE = 3", "local GRACE = 0.1")) // nobody is there to press a key
	h.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		h.server.CloseClientConnections()
		h.server.Close()
		h.open.Wait()
	})
	return h
}

// rewritten is next with a text in what it serves replaced.
func rewritten(next http.Handler, before, after string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorded := httptest.NewRecorder()
		next.ServeHTTP(recorded, r)
		w.WriteHeader(recorded.Code)
		_, _ = w.Write(bytes.ReplaceAll(recorded.Body.Bytes(), []byte(before), []byte(after)))
	})
}

func (h *host) url() string { return "ws" + strings.TrimPrefix(h.server.URL, "http") + "/gateway" }

func (h *host) gateway(w http.ResponseWriter, r *http.Request) {
	h.open.Add(1)
	defer h.open.Done()
	if strings.Contains(r.URL.RawQuery, testPassword) {
		h.t.Error("the address tells the password")
	}
	up := websocket.Upgrader{}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	p := &peer{t: h.t, root: h.t, conn: conn, query: r.URL.RawQuery, calls: map[string]chan frame{}, acks: map[string]chan struct{}{}, gone: make(chan struct{})}
	defer p.end()
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	hello, err := p.read()
	if err != nil {
		return
	}
	select {
	case h.hellos <- hello:
	default:
	}
	var proof string
	if hello, proof, err = h.challenge(p, hello); err != nil {
		return
	}
	if hello.Type != "hello" || (proof == "" && hello.Password != testPassword && h.impostor != impostorGreets) {
		p.write(frame{Type: "hello_error", Code: "unauthorized", Message: "wrong password"})
		_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(4401, "wrong password"), time.Now().Add(time.Second))
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	p.hello = hello
	if h.greet != nil {
		<-h.greet
	}
	p.write(frame{
		Type: "hello_ok", TraposID: strconv.Itoa(hello.ComputerID) + ":" + hello.Label,
		Heartbeat: 15, MaxFrame: testMaxFrame, MaxFlight: 8, Proof: proof,
	})
	h.peers <- p
	p.serveFrames()
}

// challenge has a computer prove its password, if it offers that. Without the right proof, the proof that it returns is empty.
func (h *host) challenge(p *peer, first frame) (second frame, proof string, err error) {
	if first.Nonce == "" || h.impostor == impostorGreets {
		return first, "", nil
	}
	const nonce = "nonce of the gateway"
	p.write(frame{Type: "challenge", Nonce: nonce})
	if second, err = p.read(); err != nil {
		return second, "", err
	}
	code := func(who string) string {
		mac := hmac.New(sha256.New, []byte(testPassword))
		_, _ = fmt.Fprintf(mac, "traposd-%s-1\n%s\n%s\n%s\n%d\n%s", who, nonce, first.Nonce, second.NetworkID, second.ComputerID, second.Boot)
		return hex.EncodeToString(mac.Sum(nil))
	}
	switch {
	case h.impostor == impostorGuesses:
		return second, strings.Repeat("0", 64), nil
	case second.Proof == code("computer") && second.Nonce == first.Nonce:
		return second, code("gateway"), nil
	}
	return second, "", nil
}

// impostor is a host that pretends to know the password.
type impostor int

const (
	impostorGreets  impostor = iota + 1 // without a challenge
	impostorGuesses                     // with a wrong proof
)

// receive waits for a hello.
func (h *host) receive() frame {
	h.t.Helper()
	select {
	case f := <-h.hellos:
		return f
	case <-time.After(patience):
		h.t.Fatal("no hello came")
		return frame{}
	}
}

// next is the next computer that got in.
func (h *host) next() *peer {
	h.t.Helper()
	select {
	case p := <-h.peers:
		return p
	case <-time.After(patience):
		h.t.Fatal("no computer connected")
		return nil
	}
}

// peer is one connected computer.
type peer struct {
	t     testing.TB // of the test that uses it now; not for the goroutine that reads
	root  testing.TB
	conn  *websocket.Conn
	hello frame
	query string // of the address

	writing sync.Mutex

	mu       sync.Mutex
	calls    map[string]chan frame
	acks     map[string]chan struct{}
	served   []string
	changed  chan struct{} // closed when served changes
	questers func(frame) frame
	lastID   int
	largest  int // bytes of the largest message received
	chunks   int // chunk frames received
	gone     chan struct{}
}

func (p *peer) end() {
	_ = p.conn.Close()
	close(p.gone)
}

func (p *peer) read() (frame, error) {
	var f frame
	_, data, err := p.conn.ReadMessage()
	if err != nil {
		return f, err
	}
	p.mu.Lock()
	p.largest = max(p.largest, len(data))
	p.mu.Unlock()
	for _, c := range data {
		if c < 0x20 || c > 0x7e {
			p.root.Errorf("a frame holds the byte %#x", c)
			break
		}
	}
	if err := json.Unmarshal(data, &f); err != nil {
		p.root.Errorf("a frame is not json: %v: %.200s", err, data)
	}
	if f.Type != "hello" && bytes.Contains(data, []byte(testPassword)) {
		p.root.Errorf("a %s tells the password", f.Type)
	}
	return f, nil
}

func (p *peer) write(f frame) {
	data, err := json.Marshal(f)
	if err != nil {
		p.root.Error(err)
		return
	}
	p.writeText(data)
}

func (p *peer) writeText(data []byte) {
	p.writing.Lock()
	defer p.writing.Unlock()
	_ = p.conn.WriteMessage(websocket.TextMessage, data) // the reader notices a connection that ended
}

func (p *peer) serveFrames() {
	joining := map[string][]byte{}
	for {
		f, err := p.read()
		if err != nil {
			return
		}
		if f.Type != "chunk" {
			p.handle(f)
			continue
		}
		p.mu.Lock()
		p.chunks++
		p.mu.Unlock()
		joining[f.ID] = append(joining[f.ID], f.Data...)
		if f.Last == nil || !*f.Last {
			p.write(frame{Type: "chunk_ack", ID: f.ID, Seq: f.Seq})
			continue
		}
		var whole frame
		if err := json.Unmarshal(joining[f.ID], &whole); err != nil {
			p.root.Errorf("the joined frame is not json: %v", err)
		}
		delete(joining, f.ID)
		p.handle(whole)
	}
}

func (p *peer) handle(f frame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch f.Type {
	case "serve":
		p.served = f.Types
		if p.changed != nil {
			close(p.changed)
			p.changed = nil
		}
	case "computer_response", "pong":
		if c := p.calls[f.ID]; c != nil {
			c <- f
			delete(p.calls, f.ID)
		}
	case "chunk_ack":
		if c := p.acks[f.ID]; c != nil {
			c <- struct{}{}
		}
	case "computer_request":
		answer := frame{Type: "server_response", ID: f.ID, OK: new(bool), Error: &frameError{Code: "unknown_type", Message: "no"}}
		if p.questers != nil {
			answer = p.questers(f)
		}
		go p.write(answer)
	}
}

// awaitServes waits until the computer serves a type.
func (p *peer) awaitServes(kind string) {
	p.t.Helper()
	timeout := time.After(patience)
	for {
		p.mu.Lock()
		for _, s := range p.served {
			if s == kind {
				p.mu.Unlock()
				return
			}
		}
		if p.changed == nil {
			p.changed = make(chan struct{})
		}
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-changed:
		case <-p.gone:
			p.t.Fatalf("the connection ended before %s was served", kind)
		case <-timeout:
			p.t.Fatalf("%s was never served", kind)
		}
	}
}

// start sends a request, in chunks when it is long, and returns its id and where its answer will be.
func (p *peer) start(kind string, payload any, timeout time.Duration) (string, chan frame) {
	p.t.Helper()
	raw, err := json.Marshal(payload)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	p.lastID++
	id := strconv.Itoa(p.lastID)
	answer := make(chan frame, 1)
	p.calls[id] = answer
	p.mu.Unlock()
	data, err := json.Marshal(frame{
		Type: "server_request", ID: id, Request: kind, Payload: raw, TimeoutMs: float64(timeout.Milliseconds()),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	if len(data) <= testMaxFrame {
		p.writeText(data)
	} else {
		p.sendChunks("h"+id, data)
	}
	return id, answer
}

func (p *peer) sendChunks(stream string, data []byte) {
	acks := make(chan struct{}, 64)
	p.mu.Lock()
	p.acks[stream] = acks
	p.mu.Unlock()
	const piece = 48000
	for seq, unacked := 0, 0; len(data) > 0; seq++ {
		part := data[:min(piece, len(data))]
		data = data[len(part):]
		last := len(data) == 0
		for unacked == 4 {
			select {
			case <-acks:
				unacked--
			case <-time.After(patience):
				p.t.Error("a chunk was not acknowledged")
				return
			}
		}
		p.write(frame{Type: "chunk", ID: stream, Seq: &seq, Last: &last, Data: part})
		unacked++
	}
}

func (p *peer) await(answer chan frame) frame {
	p.t.Helper()
	select {
	case f := <-answer:
		return f
	case <-p.gone:
		select { // the answer may have come just before the end
		case f := <-answer:
			return f
		default:
		}
		p.t.Fatal("the connection ended before the answer")
	case <-time.After(patience):
		p.t.Fatal("no answer")
	}
	return frame{}
}

// call is one request and its answer.
func (p *peer) call(kind string, payload any) frame {
	p.t.Helper()
	_, answer := p.start(kind, payload, patience)
	return p.await(answer)
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// execResult is the payload of an exec-lua answer.
type execResult struct {
	OK        bool        `json:"ok"`
	Kind      string      `json:"kind"`
	Error     []byte      `json:"errorBase64"`
	Line      int         `json:"line"`
	Traceback []byte      `json:"tracebackBase64"`
	Output    []byte      `json:"outputBase64"`
	Truncated bool        `json:"outputTruncated"`
	Bytes     int         `json:"outputBytes"`
	Returns   []execValue `json:"returns"`
}

type execValue struct {
	Type      string `json:"type"`
	Value     any    `json:"value"`
	Bytes     []byte `json:"valueBase64"`
	Truncated bool   `json:"truncated"`
}

func (p *peer) result(f frame) execResult {
	p.t.Helper()
	if f.OK == nil || !*f.OK {
		p.t.Fatalf("the request failed: %+v", f.Error)
	}
	var r execResult
	if err := json.Unmarshal(f.Payload, &r); err != nil {
		p.t.Fatalf("%v: %.300s", err, f.Payload)
	}
	return r
}

// exec runs Lua with a deadline on the computer.
func (p *peer) exec(source string, deadline time.Duration) execResult {
	p.t.Helper()
	return p.result(p.call("exec-lua", map[string]any{"sourceBase64": b64(source), "timeoutMs": deadline.Milliseconds()}))
}

// until waits for a condition that only polling can see.
func until(t testing.TB, what string, fulfilled func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !fulfilled() {
		select {
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		case <-ticker.C:
		}
	}
}
