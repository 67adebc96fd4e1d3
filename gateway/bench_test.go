package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// quickComputer is a computer that costs its benchmark as little as possible: it finds the id in the frame without
// parsing it, and answers with a fixed payload.
func quickComputer(conn *websocket.Conn) {
	const before, after = `{"type":"server_request","id":"`, `","ok":true,"payload":{"t":1}}`
	out := []byte(`{"type":"computer_response","id":"`)
	head := len(out)
	for {
		_, in, err := conn.ReadMessage()
		if err != nil {
			return
		}
		text := string(in)
		switch {
		case strings.HasPrefix(text, before):
			id, _, _ := strings.Cut(text[len(before):], `"`)
			out = append(append(out[:head], id...), after...)
			if conn.WriteMessage(websocket.TextMessage, out) != nil {
				return
			}
		case strings.HasPrefix(text, `{"type":"ping"`):
			pong := strings.Replace(text, "ping", "pong", 1)
			if conn.WriteMessage(websocket.TextMessage, []byte(pong)) != nil {
				return
			}
		}
	}
}

// fleet connects n quick computers to a gateway of its own.
func fleet(b *testing.B, n int) *Gateway {
	bed := newBed(b, Options{MaxComputers: n + 1})
	var running sync.WaitGroup
	b.Cleanup(running.Wait)
	for i := range n {
		p := bed.join(i, "c")
		running.Go(func() { quickComputer(p.conn) })
		b.Cleanup(func() { _ = p.conn.Close() })
	}
	return bed.g
}

// bareEchoes connects n gorilla sockets to a server that writes and reads with nothing in between. It is the limit that the
// gateway is measured against.
func bareEchoes(b *testing.B, n int) []*websocket.Conn {
	up := websocket.Upgrader{}
	conns := make(chan *websocket.Conn, n)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := up.Upgrade(w, r, nil)
		if err != nil {
			b.Error(err)
			return
		}
		conns <- conn
	}))
	b.Cleanup(srv.Close)
	var running sync.WaitGroup
	b.Cleanup(running.Wait)
	var list []*websocket.Conn
	for range n {
		client, resp, err := websocket.DefaultDialer.DialContext(b.Context(), "ws"+strings.TrimPrefix(srv.URL, "http"), nil)
		if err != nil {
			b.Fatal(err)
		}
		_ = resp.Body.Close()
		running.Go(func() { quickComputer(client) })
		server := <-conns
		b.Cleanup(func() { _, _ = client.Close(), server.Close() })
		list = append(list, server)
	}
	return list
}

// BenchmarkSaturated measures round trips with 8 callers for each of 16 computers, and of the bare echo with as many
// sockets as callers. The goal is 0.7 of the echo, and 40,000 per second.
func BenchmarkSaturated(b *testing.B) {
	const computers, callers = 16, maxInFlight
	payload := json.RawMessage(`{"t":1}`)
	b.Run("gateway", func(b *testing.B) {
		reg := fleet(b, computers).Registry()
		var left atomic.Int64
		left.Store(int64(b.N))
		var running sync.WaitGroup
		b.ResetTimer()
		for i := range computers * callers {
			running.Go(func() {
				id := fmt.Sprintf("%d:c", i%computers)
				for left.Add(-1) >= 0 {
					if _, err := reg.Request(context.Background(), "default", id, "ping", payload); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		running.Wait()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "trips/s")
	})
	b.Run("echo", func(b *testing.B) {
		conns := bareEchoes(b, computers*callers)
		frame := appendRequest(nil, "00000000-zzzz", "ping", 60000, payload)
		var left atomic.Int64
		left.Store(int64(b.N))
		var running sync.WaitGroup
		b.ResetTimer()
		for _, conn := range conns {
			running.Go(func() {
				for left.Add(-1) >= 0 {
					if err := conn.WriteMessage(websocket.TextMessage, frame); err != nil {
						b.Error(err)
						return
					}
					if _, _, err := conn.ReadMessage(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		running.Wait()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "trips/s")
	})
}

// BenchmarkOneAtATime is the latency of one caller and one computer, against the bare echo.
func BenchmarkOneAtATime(b *testing.B) {
	payload := json.RawMessage(`{"t":1}`)
	b.Run("gateway", func(b *testing.B) {
		reg := fleet(b, 1).Registry()
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			if _, err := reg.Request(context.Background(), "default", "0:c", "ping", payload); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("echo", func(b *testing.B) {
		conn := bareEchoes(b, 1)[0]
		frame := appendRequest(nil, "00000000-zzzz", "ping", 60000, payload)
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			if err := conn.WriteMessage(websocket.TextMessage, frame); err != nil {
				b.Fatal(err)
			}
			if _, _, err := conn.ReadMessage(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPaced asks 1,000 computers 1,000 times per second. The goals are p50 < 150 µs and p99 < 1 ms.
func BenchmarkPaced(b *testing.B) {
	const computers, perSecond = 1000, 1000
	reg := fleet(b, computers).Registry()
	payload := json.RawMessage(`{"t":1}`)
	took := make([]time.Duration, b.N)
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()
	var running sync.WaitGroup
	b.ResetTimer()
	for i := range b.N {
		<-tick.C
		running.Go(func() {
			start := time.Now()
			if _, err := reg.Request(context.Background(), "default", fmt.Sprintf("%d:c", i%computers), "ping", payload); err != nil {
				b.Error(err)
			}
			took[i] = time.Since(start)
		})
	}
	running.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkComputers lists 10,000 computers. The goal is below 1 s.
func BenchmarkComputers(b *testing.B) {
	g := New(Options{})
	for i := range 10_000 {
		id := &identity{network: "default", computerID: i, traposID: traposIDOf(i, "c"), label: "c", serves: []string{"exec-lua"}}
		c := &computer{reg: g.registry, identity: *id, session: &session{}}
		g.registry.byKey[key{id.network, id.traposID}] = c
	}
	b.ReportAllocs()
	for b.Loop() {
		if n := len(g.registry.Computers()); n != 10_000 {
			b.Fatal(n)
		}
	}
}

// BenchmarkChunked sends a file of 900 KB to a computer, in chunks.
func BenchmarkChunked(b *testing.B) {
	bed := newBed(b, Options{})
	p := bed.join(1, "a")
	var running sync.WaitGroup
	running.Go(func() {
		for {
			f, err := p.read()
			switch {
			case err != nil:
				return
			case f["type"] == "chunk" && f["last"] == true:
				p.ok(f["id"], 1)
			case f["type"] == "chunk":
				p.send(frame{"type": "chunk_ack", "id": f["id"], "seq": f["seq"]})
			}
		}
	})
	payload, _ := json.Marshal(map[string]string{"dataBase64": b64(strings.Repeat("x", 900_000))})
	b.SetBytes(900_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bed.g.Registry().Request(context.Background(), "default", "1:a", "write-file", payload); err != nil {
			b.Fatal(err)
		}
	}
	_ = p.conn.Close()
	running.Wait()
}

// BenchmarkIdle is the memory of an idle computer on the gateway's side. The clients are plain sockets whose handshake
// bytes are written by hand, so that they hold nothing. The goal is 24 KiB and 2 goroutines. TRAPOSD_BENCH_IDLE sets how many.
func BenchmarkIdle(b *testing.B) {
	n := 1000
	if s := os.Getenv("TRAPOSD_BENCH_IDLE"); s != "" {
		if _, err := fmt.Sscan(s, &n); err != nil {
			b.Fatal(err)
		}
	}
	bed := newBed(b, Options{MaxComputers: n})
	warm := rawJoin(b, bed.url, n)
	defer func() { _ = warm.Close() }()
	before, goroutines := memory(), runtime.NumGoroutine()
	start := time.Now()
	for i := range n - 1 {
		c := rawJoin(b, bed.url, i)
		defer func() { _ = c.Close() }()
	}
	b.ReportMetric(time.Since(start).Seconds(), "s-connecting")
	eventually(b, "everyone to be connected", func() bool { return len(bed.g.Registry().Computers()) == n })
	b.ReportMetric(float64(memory()-before)/float64(n-1), "bytes/computer")
	b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/float64(n-1), "goroutines/computer")
	b.ReportMetric(0, "ns/op")
}

// memory is what the process holds in heap and stacks after a collection.
func memory() int64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC() // stacks shrink one step at a time
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
