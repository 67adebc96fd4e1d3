package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
)

// pipeListener accepts in-memory connections, so that a whole gateway runs in a synctest bubble, on its clock.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inBubble runs test against a gateway whose time is faked.
func inBubble(t *testing.T, o Options, test func(t *testing.T, g *Gateway, dial func() *peer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.Password = func() string { return secret }
		g := New(o)
		l := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
		srv := &http.Server{Handler: g, ReadHeaderTimeout: time.Minute}
		served := make(chan error, 1)
		go func() { served <- srv.Serve(l) }()
		var peers []*peer
		dial := func() *peer {
			d := websocket.Dialer{NetDialContext: l.dial}
			conn, resp, err := d.DialContext(t.Context(), "ws://pipe"+Path, nil)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			p := &peer{t: t, conn: conn}
			peers = append(peers, p)
			return p
		}
		test(t, g, dial)
		for _, p := range peers {
			_ = p.conn.Close()
		}
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
		_ = srv.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

// drain reads frames into a channel until the connection ends; the error comes last.
func (p *peer) drain() (frames chan frame, end chan error) {
	frames, end = make(chan frame, 1024), make(chan error, 1)
	go func() {
		for {
			_, b, err := p.conn.ReadMessage()
			if err != nil {
				end <- err
				return
			}
			frames <- decode(b)
		}
	}()
	return frames, end
}

func TestHeartbeat(t *testing.T) {
	changes := 0
	var mu sync.Mutex
	onChange := func() { mu.Lock(); changes++; mu.Unlock() }
	inBubble(t, Options{OnChange: onChange}, func(t *testing.T, g *Gateway, dial func() *peer) {
		p := dial()
		p.send(helloFrame(1, "a"))
		frames, end := p.drain()
		start := time.Now()
		state := func() State {
			synctest.Wait()
			if list := g.Registry().Computers(); len(list) == 1 {
				return list[0].State
			}
			return "gone"
		}
		if f := <-frames; f["type"] != "hello_ok" {
			t.Fatalf("got %v", f)
		}
		// The first ping comes between half a heartbeat and a whole one, and the others every 15 s.
		last := start
		for i := range 5 {
			f := <-frames
			since := time.Since(last)
			if f["type"] != "ping" || since > 16*time.Second || (i > 0 && since < 14*time.Second) || since < 7*time.Second {
				t.Fatalf("got %v after %v", f, since)
			}
			last = time.Now()
			p.send(frame{"type": "pong", "t": f["t"]})
		}
		if s := state(); s != StateReady {
			t.Fatalf("state %s while it answers", s)
		}
		time.Sleep(44 * time.Second) // the bubble's clock: no time passes
		if s := state(); s != StateReady {
			t.Fatalf("state %s after 44 s", s)
		}
		time.Sleep(2 * time.Second)
		if s := state(); s != StateUnresponsive {
			t.Fatalf("state %s after 46 s", s)
		}
		p.send(frame{"type": "pong", "t": 0}) // any frame is a sign of life
		if s := state(); s != StateReady {
			t.Fatalf("state %s after a frame", s)
		}
		time.Sleep(5*time.Minute - time.Second)
		if s := state(); s != StateUnresponsive {
			t.Fatalf("state %s before it is dropped", s)
		}
		time.Sleep(4 * time.Second)
		if s := state(); s != "gone" {
			t.Fatalf("state %s after 5 min", s)
		}
		var closed *websocket.CloseError
		if err := <-end; !errors.As(err, &closed) || closed.Code != closeTimeout {
			t.Errorf("ended with %v, want close code %d", err, closeTimeout)
		}
	})
	mu.Lock()
	defer mu.Unlock()
	if changes != 5 { // connected, unresponsive, ready, unresponsive, gone
		t.Errorf("%d changes, want 5", changes)
	}
}

func TestHelloTimeoutIsFiveSeconds(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, _ *Gateway, dial func() *peer) {
		p := dial()
		start := time.Now()
		frames, _ := p.drain()
		if f := <-frames; f["code"] != "timeout" || time.Since(start) != 5*time.Second {
			t.Errorf("got %v after %v", f, time.Since(start))
		}
	})
}

// TestHeartbeatRests: without computers nothing ticks, and with new ones it does again.
func TestHeartbeatRests(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, g *Gateway, dial func() *peer) {
		for range 2 {
			p := dial()
			p.send(helloFrame(1, "a"))
			frames, _ := p.drain()
			for f := range frames {
				if f["type"] == "ping" {
					break
				}
			}
			_ = p.conn.Close()
			time.Sleep(10 * time.Second)
			synctest.Wait()
			g.mu.Lock()
			watching := g.watching
			g.mu.Unlock()
			if watching {
				t.Error("the heartbeat goroutine runs for nobody")
			}
		}
	})
}

// TestStuckWriteEnds: a peer whose socket takes nothing is cut off after the write deadline.
func TestStuckWriteEnds(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, g *Gateway, dial func() *peer) {
		p := dial()
		p.send(helloFrame(1, "a")) // and never reads
		synctest.Wait()
		start := time.Now()
		if n := len(g.Registry().Computers()); n != 1 {
			t.Fatalf("%d computers", n)
		}
		time.Sleep(defaultUnresponsive + 2*time.Second)
		synctest.Wait()
		if n := len(g.Registry().Computers()); n != 0 {
			t.Errorf("still connected after %v", time.Since(start))
		}
	})
}

func TestRefusalsFloodNoLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var th throttle
		lines, told := 0, 0
		for i := range 1000 {
			code := CodeBadRequest
			if i%100 == 50 {
				code = CodeUnsupportedProtocol // another mistake is not hidden by the first
			}
			if repeats, loud := th.failed("192.0.2.1", code, time.Now()); loud {
				lines, told = lines+1, told+1+repeats
			}
		}
		if lines != 2 {
			t.Errorf("%d lines for two kinds of mistakes", lines)
		}
		if !th.wait("192.0.2.1", nil) || len(th.hosts) != 1 || th.hosts["192.0.2.1"].score != 0 {
			t.Error("a mistake that is no wrong password slows the address down")
		}
		time.Sleep(throttleQuiet)
		if repeats, loud := th.failed("192.0.2.1", CodeBadRequest, time.Now()); !loud || repeats != 989 {
			t.Errorf("a minute later: loud %v, %d repeats", loud, repeats)
		}
	})
}

func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var th throttle
		done := make(chan struct{})
		judge := func(host string) time.Duration {
			start := time.Now()
			if !th.wait(host, done) {
				t.Fatal("refused")
			}
			return time.Since(start)
		}
		loud := 0
		for i := range throttleScore {
			d := judge("192.0.2.1")
			if i <= throttleFree && d != 0 {
				t.Fatalf("failure %d waits %v", i, d)
			}
			if _, l := th.failed("192.0.2.1", CodeUnauthorized, time.Now()); l {
				loud++
			}
		}
		if d := judge("::ffff:192.0.2.1"); d == 0 || d > throttleMax {
			t.Errorf("after %d failures a hello waits %v", throttleScore, d)
		}
		if d := judge("192.0.2.2"); d != 0 {
			t.Errorf("another address waits %v", d)
		}
		if loud > 2 {
			t.Errorf("%d log lines", loud)
		}
		time.Sleep(3 * time.Minute)
		if d := judge("192.0.2.1"); d != 0 {
			t.Errorf("after a rest it waits %v", d)
		}
		th.failed("2001:db8::1", CodeUnauthorized, time.Now())
		th.failed("2001:db8::2", CodeUnauthorized, time.Now())
		for i := range throttleHosts + 10 {
			th.failed(string(rune('a'+i%26))+time.Duration(i).String(), CodeUnauthorized, time.Now())
		}
		if n := len(th.hosts); n > throttleHosts {
			t.Errorf("%d addresses are remembered", n)
		}
	})
}

func TestThrottleBoundsTheWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var th throttle
		for range throttleScore {
			th.failed("h", CodeUnauthorized, time.Now())
		}
		done := make(chan struct{})
		results := make(chan bool, throttleWaiting)
		for range throttleWaiting {
			go func() { results <- th.wait("h", done) }()
		}
		synctest.Wait()
		if th.wait("h", done) {
			t.Error("one more may wait")
		}
		close(done)
		for range throttleWaiting {
			if <-results {
				t.Error("a wait that was cut off counts as served")
			}
		}
	})
}
