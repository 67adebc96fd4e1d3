package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
	"github.com/traposd/traposd/mcpconfig"
)

// The tests of this file run with the default times, in a bubble whose clock jumps: connections are in memory.

// pipes is a network with one host on it.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once

	mu   sync.Mutex
	down bool // connections are refused
	deaf bool // connections are accepted by nobody
	open []net.Conn
}

func (p *pipes) set(down, deaf bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down, p.deaf = down, deaf
	if down {
		for _, c := range p.open {
			_ = c.Close()
		}
		p.open = nil
	}
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	p.mu.Lock()
	down, deaf := p.down, p.deaf
	ours, theirs := net.Pipe()
	if !down {
		p.open = append(p.open, theirs)
	}
	p.mu.Unlock()
	switch {
	case down:
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	case deaf:
		return ours, nil
	}
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// timeless runs a test in a bubble, with f as the server "s" and the default times.
func timeless(t *testing.T, f *fake, test func(t *testing.T, b *bench, p *pipes), adjust ...func(*mcpconfig.Server, *pipes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f.t = t
		p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		var served sync.WaitGroup
		host := &http.Server{Handler: f, ReadHeaderTimeout: time.Hour}
		served.Go(func() { _ = host.Serve(p) })
		t.Cleanup(func() {
			_ = host.Close()
			served.Wait()
		})
		b := start(t, func(o *Options) { o.Times, o.dial = Times{}, p.dial })
		server := remoteServer("s", "http://127.0.0.1/mcp", mcpconfig.TransportHTTP)
		for _, change := range adjust {
			change(&server, p)
		}
		b.r.Reconcile([]mcpconfig.Server{server})
		test(t, b, p)
	})
}

// pass lets time pass, and then everything that is due happen.
func pass(d time.Duration) {
	sleep(context.Background(), d)
	synctest.Wait()
}

// until lets seconds pass, at most half an hour of them.
func until(t *testing.T, ok func() bool) {
	t.Helper()
	for range 1800 {
		if ok() {
			return
		}
		pass(time.Second)
	}
	t.Fatal("waited in vain")
}

// moments are when something happened.
type moments struct {
	mu   sync.Mutex
	list []time.Time
}

func (m *moments) add() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, time.Now())
}

func (m *moments) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.list)
}

// gaps are the times between them.
func (m *moments) gaps() []time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []time.Duration
	for i := 1; i < len(m.list); i++ {
		out = append(out, m.list[i].Sub(m.list[i-1]))
	}
	return out
}

// about reports whether d is want, up to a tenth of jitter and a little for what happens in between.
func about(d, want time.Duration) bool {
	return d >= want && d <= want+want/10+100*time.Millisecond
}

// onCall makes a server that treats tools/call specially.
func onCall(f func(w http.ResponseWriter, r *http.Request, m *wire.Message)) *fake {
	return &fake{before: func(w http.ResponseWriter, r *http.Request, m *wire.Message) bool {
		if m.Method == "tools/call" {
			f(w, r, m)
		}
		return m.Method == "tools/call"
	}}
}

func hang(_ http.ResponseWriter, r *http.Request, _ *wire.Message) { <-r.Context().Done() }

func TestTimeLimitOfCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		entry time.Duration // the entry's "timeout"
		want  time.Duration
	}{"by default": {0, 300 * time.Second}, "of the entry": {10 * time.Second, 10 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			var cancelled moments
			f := onCall(hang)
			inner := f.before
			f.before = func(w http.ResponseWriter, r *http.Request, m *wire.Message) bool {
				if m.Method == "notifications/cancelled" {
					cancelled.add()
				}
				return inner(w, r, m)
			}
			timeless(t, f, func(t *testing.T, b *bench, _ *pipes) {
				e, begun := b.offered("s"), time.Now()
				_, err := b.call(e, "t", `{}`)
				if took := time.Since(begun); took != c.want {
					t.Errorf("it took %v", took)
				}
				var rpc *wire.Error
				if !errors.As(err, &rpc) || rpc.Code != mcp.CodeTimeout || !strings.Contains(rpc.Message, `"s"`) || !strings.Contains(rpc.Message, c.want.String()) {
					t.Errorf("error %v", err)
				}
				synctest.Wait()
				if cancelled.count() != 1 {
					t.Errorf("the server was told %d times", cancelled.count())
				}
			}, func(s *mcpconfig.Server, _ *pipes) { s.Timeout = c.entry })
		})
	}
}

// TestTimeLimitsOfCallsThatOverlap: one timer watches over them all, and each has its whole time.
func TestTimeLimitsOfCallsThatOverlap(t *testing.T) {
	t.Parallel()
	f := onCall(func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
		if sleep(r.Context(), 150*time.Second) && strings.Contains(string(m.Params), "answered") {
			answer(w, m, `{"content":[]}`)
			return
		}
		<-r.Context().Done()
	})
	timeless(t, f, func(t *testing.T, b *bench, _ *pipes) {
		e := b.offered("s")
		var calls sync.WaitGroup
		for _, c := range []struct {
			arguments string
			want      time.Duration
		}{{`{}`, 300 * time.Second}, {`{"answered":1}`, 150 * time.Second}, {`{}`, 300 * time.Second}, {`{}`, 300 * time.Second}} {
			calls.Go(func() {
				begun := time.Now()
				_, err := b.call(e, "t", c.arguments)
				if took := time.Since(begun); took != c.want || (codeOf(err) == mcp.CodeTimeout) != (c.arguments == `{}`) {
					t.Errorf("%s: after %v: %v", c.arguments, took, err)
				}
			})
			pass(100 * time.Second)
		}
		calls.Wait()
		pass(time.Hour)
		if _, err := b.call(e, "t", `{"answered":2}`); err != nil {
			t.Errorf("a call long after: %v", err)
		}
	})
}

func TestProgressProlongsACall(t *testing.T) {
	t.Parallel()
	f := onCall(func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
		meta, _ := wire.Get(m.Params, "_meta")
		token, _ := wire.Get(meta, "progressToken")
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 6 {
			if !sleep(r.Context(), 200*time.Second) {
				return
			}
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":%d}}\n\n", token, i)
			w.(http.Flusher).Flush()
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", wire.Response(m.ID, []byte(`{"content":[{"text":"late"}]}`)).Append(nil))
	})
	timeless(t, f, func(t *testing.T, b *bench, _ *pipes) {
		e, steps := b.offered("s"), 0
		result, err := b.callWith(t.Context(), e, "t", `{}`, func(json.RawMessage) { steps++ }, &asker{})
		if err != nil || text(t, result) != "late" || steps != 6 {
			t.Errorf("result %s, error %v, %d steps", result, err, steps)
		}
	})
}

func TestTimeLimitOfAStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		entry, want time.Duration
	}{"by default": {0, 120 * time.Second}, "of the entry": {7 * time.Second, 7 * time.Second}} {
		for _, kind := range []string{"silent", "accepted by nobody"} {
			t.Run(name+", "+kind, func(t *testing.T) {
				f := &fake{before: func(w http.ResponseWriter, r *http.Request, m *wire.Message) bool { hang(w, r, m); return true }}
				timeless(t, f, func(t *testing.T, b *bench, _ *pipes) {
					pass(c.want - time.Second)
					if s := b.status("s"); s.State != StateStarting {
						t.Errorf("before the limit: %+v", s)
					}
					pass(time.Second)
					if s := b.status("s"); s.State != StateBackingOff || !strings.Contains(s.Err, "did not come up within "+c.want.String()) {
						t.Errorf("after the limit: %+v", s)
					}
				}, func(s *mcpconfig.Server, p *pipes) {
					s.StartupTimeout = c.entry
					p.set(false, kind != "silent")
				})
			})
		}
	}
}

func TestServerIsTriedForEver(t *testing.T) {
	t.Parallel()
	var starts moments
	f := &fake{before: func(_ http.ResponseWriter, _ *http.Request, m *wire.Message) bool {
		if m.Method == "initialize" {
			starts.add()
		}
		return false
	}}
	timeless(t, f, func(t *testing.T, b *bench, p *pipes) {
		b.offered("s")
		p.set(true, false)
		pass(12 * time.Hour)
		if s := b.status("s"); s.State != StateBackingOff || s.Restarts < 12*50 || s.Restarts > 12*61 {
			t.Errorf("after half a day: %+v", s)
		}
		p.set(false, false)
		pass(66 * time.Second)
		if s := b.status("s"); s.State != StateReady || s.Err != "" {
			t.Errorf("after it came back: %+v", s)
		}
	})
}

func TestCallRevivesAtOnce(t *testing.T) {
	t.Parallel()
	timeless(t, &fake{}, func(t *testing.T, b *bench, p *pipes) {
		e := b.offered("s")
		p.set(true, false)
		pass(40 * time.Second) // two or three starts fail: the offer stands, and the next start is seconds away
		until(t, func() bool { return b.attempts("s") >= 3 })
		pass(2 * time.Second)
		p.set(false, false)
		begun := time.Now()
		if _, err := b.call(e, "t", `{}`); err != nil || time.Since(begun) > time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
}

func TestEditRevivesAtOnce(t *testing.T) {
	t.Parallel()
	var server mcpconfig.Server
	timeless(t, &fake{}, func(t *testing.T, b *bench, p *pipes) {
		b.offered("s")
		p.set(true, false)
		until(t, func() bool { return b.attempts("s") >= 8 }) // the pause is a minute now
		pass(2 * time.Second)
		p.set(false, false)
		pass(2 * time.Second)
		if s := b.status("s"); s.State != StateBackingOff {
			t.Fatalf("before the edit: %+v", s)
		}
		server.Timeout = time.Minute
		b.r.Reconcile([]mcpconfig.Server{server})
		pass(time.Second)
		if s := b.status("s"); s.State != StateReady {
			t.Errorf("after the edit: %+v", s)
		}
	}, func(s *mcpconfig.Server, _ *pipes) { server = *s })
}

// TestHealthResetsTheBackOff: a server that dies again and again waits longer and longer; after a minute of health it
// does not.
func TestHealthResetsTheBackOff(t *testing.T) {
	t.Parallel()
	var (
		starts moments
		lasts  = 10 * time.Second // how long it answers after a start
		mu     sync.Mutex
		born   time.Time
	)
	f := &fake{before: func(w http.ResponseWriter, _ *http.Request, m *wire.Message) bool {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case m.Method == "initialize":
			starts.add()
			born = time.Now()
		case m.Method == "ping" && time.Since(born) > lasts:
			http.Error(w, "out of order", http.StatusInternalServerError)
			return true
		}
		return false
	}}
	timeless(t, f, func(t *testing.T, b *bench, _ *pipes) {
		until(t, func() bool { return starts.count() == 5 })
		mu.Lock()
		lasts = 62 * time.Second
		mu.Unlock()
		until(t, func() bool { return starts.count() == 6 })
		const ping = 12 * time.Second // the death is noticed at the ping after it
		for i, want := range []time.Duration{ping + 1*time.Second, ping + 2*time.Second, ping + 4*time.Second, ping + 8*time.Second, 6*ping + time.Second} {
			if got := starts.gaps()[i]; !about(got, want) {
				t.Errorf("between start %d and the next: %v, want %v", i+1, got, want)
			}
		}
	})
}

func TestPausesThatServersAskFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		after  func() string
		want   time.Duration
		state  State
	}{
		"503 with seconds":  {http.StatusServiceUnavailable, func() string { return "90" }, 90 * time.Second, StateBackingOff},
		"503 with a date":   {http.StatusServiceUnavailable, func() string { return time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat) }, 90 * time.Second, StateBackingOff},
		"503":               {http.StatusServiceUnavailable, func() string { return "" }, time.Second, StateBackingOff},
		"429 with seconds":  {http.StatusTooManyRequests, func() string { return "30" }, 30 * time.Second, StateBackingOff},
		"429 with an hour":  {http.StatusTooManyRequests, func() string { return "3600" }, maxThrottle, StateBackingOff},
		"429 with nonsense": {http.StatusTooManyRequests, func() string { return "soon" }, time.Second, StateBackingOff},
		"500":               {http.StatusInternalServerError, func() string { return "" }, time.Second, StateBackingOff},
		"502":               {http.StatusBadGateway, func() string { return "" }, time.Second, StateBackingOff},
		"401":               {http.StatusUnauthorized, func() string { return "" }, loginPause, StateNeedsLogin},
		"403":               {http.StatusForbidden, func() string { return "" }, loginPause, StateNeedsLogin},
	} {
		t.Run(name, func(t *testing.T) {
			var starts moments
			f := &fake{before: func(w http.ResponseWriter, _ *http.Request, m *wire.Message) bool {
				starts.add()
				if after := c.after(); after != "" {
					w.Header().Set("Retry-After", after)
				}
				http.Error(w, "no", c.status)
				return true
			}}
			timeless(t, f, func(t *testing.T, b *bench, _ *pipes) {
				synctest.Wait()
				if s := b.status("s"); s.State != c.state {
					t.Errorf("status %+v", s)
				}
				pass(c.want + c.want/10 + time.Second)
				gaps := starts.gaps()
				if len(gaps) == 0 || gaps[0] < c.want-time.Second || gaps[0] > c.want+c.want/10+time.Second {
					t.Errorf("it was tried again after %v, want %v", gaps, c.want)
				}
			})
		})
	}
}

// TestStreamThatEndsIsNotAskedForAllTheTime counts the GETs of ten minutes.
func TestStreamThatEndsIsNotAskedForAllTheTime(t *testing.T) {
	t.Parallel()
	event := func(text string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, text)
		}
	}
	status := func(code int) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", code) }
	}
	for name, c := range map[string]struct {
		get  func(http.ResponseWriter, *http.Request)
		most int64
	}{
		"ends at once":                  {event(""), 14},
		"ends at once and says retry":   {event("retry: 1\n\nid: 1\ndata:\n\n"), 14},
		"asks for a retry in a year":    {event("retry: 2000000000\n\n"), 14},
		"500":                           {status(http.StatusInternalServerError), 14},
		"429":                           {status(http.StatusTooManyRequests), 14},
		"404":                           {status(http.StatusNotFound), 1},
		"405":                           {status(http.StatusMethodNotAllowed), 1},
		"406":                           {status(http.StatusNotAcceptable), 1},
		"400":                           {status(http.StatusBadRequest), 1},
		"JSON":                          {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "application/json") }, 1},
		"lasts for half a minute":       {func(_ http.ResponseWriter, r *http.Request) { sleep(r.Context(), 30*time.Second) }, 14},
		"breaks the connection at once": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 14},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{get: c.get}
			timeless(t, f, func(t *testing.T, b *bench, _ *pipes) {
				e := b.offered("s")
				for range 10 {
					pass(time.Minute)
					if _, err := b.call(e, "t", `{}`); err != nil {
						t.Error(err)
					}
				}
				if n := f.gets.Load(); n < 1 || n > c.most {
					t.Errorf("%d GETs in ten minutes", n)
				}
				if s := b.status("s"); s.Restarts != 0 || s.State != StateReady {
					t.Errorf("status %+v", s)
				}
			})
		})
	}
}

func TestSilentDeathIsNoticedWithinHalfAMinute(t *testing.T) {
	t.Parallel()
	var silent sync.Map
	f := &fake{before: func(w http.ResponseWriter, r *http.Request, m *wire.Message) bool {
		_, dead := silent.Load("dead")
		if dead {
			hang(w, r, m)
		}
		return dead
	}}
	timeless(t, f, func(t *testing.T, b *bench, _ *pipes) {
		b.offered("s")
		pass(2 * time.Hour)
		if s := b.status("s"); s.State != StateReady || s.Restarts != 0 {
			t.Fatalf("status %+v", s)
		}
		silent.Store("dead", true)
		pass(30 * time.Second)
		if s := b.status("s"); s.State == StateReady || s.Restarts != 1 {
			t.Errorf("status %+v", s)
		}
	})
}

// TestBusyServerIsNotTakenForDead: one that does one thing at a time answers no ping meanwhile.
func TestBusyServerIsNotTakenForDead(t *testing.T) {
	t.Parallel()
	var one sync.Map
	f := &fake{before: func(w http.ResponseWriter, r *http.Request, m *wire.Message) bool {
		if m.Method == "tools/call" {
			one.Store("busy", true)
			sleep(r.Context(), 250*time.Second)
			one.Delete("busy")
			return false
		}
		_, busy := one.Load("busy")
		if busy {
			hang(w, r, m)
		}
		return busy
	}}
	timeless(t, f, func(t *testing.T, b *bench, _ *pipes) {
		if _, err := b.call(b.offered("s"), "t", `{}`); err != nil {
			t.Error(err)
		}
		if s := b.status("s"); s.Restarts != 0 {
			t.Errorf("status %+v", s)
		}
	})
}

func TestDrainHasALimit(t *testing.T) {
	t.Parallel()
	timeless(t, onCall(hang), func(t *testing.T, b *bench, _ *pipes) {
		e := b.offered("s")
		done := make(chan error, 1)
		begun := time.Now()
		go func() {
			_, err := b.call(e, "t", `{}`)
			done <- err
		}()
		synctest.Wait()
		b.r.Reconcile(nil)
		synctest.Wait()
		if list := b.r.Status(); len(list) != 1 || list[0].State != StateStopping {
			t.Errorf("while it drains: %+v", list)
		}
		err := <-done
		var rpc *wire.Error
		if took := time.Since(begun); took != 30*time.Second || !errors.As(err, &rpc) || rpc.Code != mcp.CodeServerDown {
			t.Errorf("after %v: %v", took, err)
		}
		pass(deleteLimit)
		if list := b.r.Status(); len(list) != 0 {
			t.Errorf("in the end: %+v", list)
		}
	})
}
