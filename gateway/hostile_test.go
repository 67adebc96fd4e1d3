package gateway

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// serveAll answers every request of a computer with its payload until the connection ends.
func (p *peer) serveAll() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			f, err := p.read()
			if err != nil {
				return
			}
			switch f["type"] {
			case "server_request":
				p.ok(f["id"], f["payload"])
			case "ping":
				p.send(frame{"type": "pong", "t": f["t"]})
			}
		}
	}()
	return done
}

func TestGarbageEndsOnlyItsSender(t *testing.T) {
	for name, c := range map[string]struct {
		kind  int
		text  string
		close int
	}{
		"not json":      {websocket.TextMessage, "{", 4400},
		"an array":      {websocket.TextMessage, "[1]", 4400},
		"no type":       {websocket.TextMessage, "{}", 4400},
		"invalid utf-8": {websocket.TextMessage, "{\"type\":\"\xff\"}", 4400},
		"binary":        {websocket.BinaryMessage, "{}", 4400},
		"numeric id":    {websocket.TextMessage, `{"type":"cancel","id":3}`, 4400},
		// Not so large that the sender still writes when the gateway, which waits for a second, has closed the connection.
		"too large":      {websocket.TextMessage, `{"type":"x","y":"` + strings.Repeat("x", 80_000) + `"}`, 4413},
		"chunk no id":    {websocket.TextMessage, `{"type":"chunk","seq":0}`, 4400},
		"bad base64":     {websocket.TextMessage, `{"type":"chunk","id":"a","seq":0,"data":"!"}`, 4400},
		"chunk in chunk": {websocket.TextMessage, `{"type":"chunk","id":"a","seq":0,"last":true,"data":"` + b64(`{"type":"chunk","id":"a"}`) + `"}`, 4400},
		"bad ping":       {websocket.TextMessage, `{"type":"ping"}`, 4400},
		"bad request id": {websocket.TextMessage, `{"type":"computer_request","id":""}`, 4400},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, Options{})
			good, bad := b.join(1, "good"), b.join(2, "bad")
			served := good.serveAll()
			if err := bad.conn.WriteMessage(c.kind, []byte(c.text)); err != nil {
				t.Fatal(err)
			}
			if code, reason := bad.closed(); code != c.close || reason == "" {
				t.Errorf("closed with %d %q, want %d", code, reason, c.close)
			}
			if r := b.await(b.ask(t.Context(), "1:good", "ping", "1")); r.err != nil {
				t.Error(r.err)
			}
			good.reset()
			<-served
		})
	}
}

func TestUnknownFramesAreIgnored(t *testing.T) {
	b := newBed(t, Options{})
	p := b.join(1, "a")
	for _, text := range []string{
		`{"type":"of_tomorrow","id":"x"}`, `{"type":"computer_response","id":"nobody","ok":true}`, `{"type":"chunk_ack","id":"x","seq":1}`,
		`{"type":"pong","t":99}`, `{"type":"pong","t":1.5}`, `{"type":"cancel","id":"x"}`, `{"type":"ping","t":7}`,
	} {
		p.sendText([]byte(text))
	}
	if f := p.next(); f["type"] != "pong" || f["t"] != 7.0 {
		t.Errorf("got %v", f)
	}
}

// TestFlood has one computer send as fast as it can and read nothing, while another one is being served.
func TestFlood(t *testing.T) {
	b := newBed(t, Options{})
	good, bad := b.join(1, "good"), b.join(2, "bad")
	served := good.serveAll()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		text := []byte(`{"type":"ping","t":1}`)
		for bad.conn.WriteMessage(websocket.TextMessage, text) == nil {
		}
	}()
	for range 500 {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		if r := b.await(b.ask(ctx, "1:good", "exec-lua", "1")); r.err != nil {
			t.Fatal(r.err)
		}
		cancel()
	}
	c, _ := b.g.Registry().find("default", "2:bad")
	c.mu.Lock()
	queued := len(c.session.control)
	c.mu.Unlock()
	if queued > maxControl {
		t.Errorf("%d frames wait for the flooder", queued)
	}
	bad.reset()
	<-sent
	good.reset()
	<-served
}

// TestSlowReader has a computer that reads nothing at all. Requests to it end in time, and the other one is not held up.
func TestSlowReader(t *testing.T) {
	b := newBed(t, Options{})
	good, slow := b.join(1, "good"), b.join(2, "slow")
	served := good.serveAll()
	if c, ok := slow.conn.NetConn().(*net.TCPConn); ok {
		_ = c.SetReadBuffer(4096)
	}
	payload := `"` + strings.Repeat("x", 60_000) + `"`
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var waiting []<-chan result
	for range 100 {
		waiting = append(waiting, b.ask(ctx, "2:slow", "exec-lua", payload))
	}
	for range 100 {
		if r := b.await(b.ask(t.Context(), "1:good", "exec-lua", "1")); r.err != nil {
			t.Fatal(r.err)
		}
	}
	for _, ch := range waiting {
		wantCode(t, b.await(ch).err, CodeTimeout)
	}
	good.reset()
	<-served
}

// TestHugeFrame announces a frame of 1 GB. Nothing of that size is allocated, and the sender is told.
func TestHugeFrame(t *testing.T) {
	b := newBed(t, Options{})
	p := b.join(1, "a")
	head := []byte{0x81, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0} // fin text, masked with zeroes, 64-bit length
	if _, err := p.conn.NetConn().Write(append(head, strings.Repeat(" ", 80_000)...)); err != nil {
		t.Fatal(err)
	}
	if code, _ := p.closed(); code != 4413 {
		t.Errorf("closed with %d", code)
	}
}

func TestFragmentsAreTaken(t *testing.T) {
	b := newBed(t, Options{})
	p := b.join(1, "a")
	w, err := p.conn.NextWriter(websocket.TextMessage)
	if err != nil {
		t.Fatal(err)
	}
	f, _ := json.Marshal(frame{"type": "ping", "t": 3, "pad": strings.Repeat("x", 20_000)})
	for _, part := range [][]byte{f[:7], f[7:]} {
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if f := p.next(); f["t"] != 3.0 {
		t.Errorf("got %v", f)
	}
}

func TestBudget(t *testing.T) {
	var b budget
	now := time.Unix(1000, 0)
	for i := range unsolicitedBurst {
		if d := b.take(now); d != 0 {
			t.Fatalf("frame %d waits %v", i, d)
		}
	}
	if d := b.take(now); d != time.Millisecond {
		t.Errorf("the first frame above the burst waits %v, want 1ms", d)
	}
	if d := b.take(now.Add(time.Hour)); d != 0 {
		t.Errorf("after an hour a frame waits %v", d)
	}
	if b.tokens > unsolicitedBurst {
		t.Errorf("%v tokens were saved up", b.tokens)
	}
}
