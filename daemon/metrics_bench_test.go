package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/traposd/traposd/gateway"
)

// memoryListener accepts connections that are no sockets, so that a benchmark may have more of them than a process may
// have files.
type memoryListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *memoryListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "memory"} }

func (l *memoryListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// crowd is a gateway with n connected computers that do nothing.
func crowd(b *testing.B, n int) *gateway.Gateway {
	b.Helper()
	g := gateway.New(gateway.Options{Password: func() string { return "secret" }, Heartbeat: time.Hour, Unresponsive: 2 * time.Hour, Drop: 3 * time.Hour})
	l := &memoryListener{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: g, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	dialer := websocket.Dialer{NetDialContext: l.dial, ReadBufferSize: 512, WriteBufferSize: 512}
	var conns []*websocket.Conn
	b.Cleanup(func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
		if err := errors.Join(g.Close(context.Background()), srv.Close()); err != nil {
			b.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			b.Error(err)
		}
	})
	for i := range n {
		conn, resp, err := dialer.DialContext(b.Context(), "ws://memory"+gateway.Path, nil)
		if err != nil {
			b.Fatal(err)
		}
		_ = resp.Body.Close()
		conns = append(conns, conn)
		hello := map[string]any{
			"type": "hello", "protocol": 1, "password": "secret", "computerId": i, "label": "bench", "boot": fmt.Sprint("b", i),
			"serves": []string{"exec-lua", "read-file", "write-file", "list-files"},
		}
		if err := conn.WriteJSON(hello); err != nil {
			b.Fatal(err)
		}
		if _, _, err := conn.ReadMessage(); err != nil {
			b.Fatal(err)
		}
	}
	return g
}

// BenchmarkMetrics is one scrape with 10,000 computers. Prometheus asks every 15 s or so; the goal is that a scrape takes
// less than 10 ms, which is a thousandth of a core. The report of all computers, which the status is made of, stands beside it.
func BenchmarkMetrics(b *testing.B) {
	g := crowd(b, 10_000)
	m := newMetrics("bench", func() scrape {
		stats := g.Stats()
		return scrape{sessions: map[string]int{}, gateway: &stats}
	}, newCalls().seconds, newComputerRequests().seconds)
	handler := m.handler()
	runtime.GC()
	b.Run("scrape", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w := httptest.NewRecorder()
			w.Body = nil
			handler.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/metrics", http.NoBody))
			if w.Code != http.StatusOK {
				b.Fatal(w.Code)
			}
		}
	})
	b.Run("stats", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if s := g.Stats(); s.Computers[gateway.StateReady] != 10_000 {
				b.Fatal(s.Computers)
			}
		}
	})
	b.Run("report", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if r := computersReport(g.Registry().Computers()); len(r.Computers) != 10_000 {
				b.Fatal(len(r.Computers))
			}
		}
	})
}
