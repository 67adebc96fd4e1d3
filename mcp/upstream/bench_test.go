package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
	"github.com/traposd/traposd/mcpconfig"
)

// The relay's calls stand beside bare echoes over the same transport, which do nothing but carry one message there and
// one back: what is above them is ours.

// swift is the least a server can be: it answers initialize, tools/list and tools/call with fixed bytes.
func swift(m *wire.Message) json.RawMessage {
	switch m.Method {
	case "initialize":
		return json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"e","version":"1"}}`)
	case "tools/list":
		return json.RawMessage(`{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`)
	}
	return json.RawMessage(`{"content":[{"type":"text","text":"hello"}]}`)
}

// swiftStdio answers on stdin and stdout.
func swiftStdio() {
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		m, err := wire.Parse(line)
		if err != nil || !m.IsRequest() {
			continue
		}
		if _, err := os.Stdout.Write(append(wire.Response(m.ID, swift(m)).Append(nil), '\n')); err != nil {
			return
		}
	}
}

func swiftHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m, err := wire.Parse(body)
	if err != nil || r.Method != http.MethodPost || !m.IsRequest() {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(wire.Response(m.ID, swift(m)).Append(nil))
}

var benchParams = json.RawMessage(`{"name":"t","arguments":{"text":"hello"}}`)

// parallel runs call b.N times, the given number at once, and reports the rate and how long the calls took.
func parallel(b *testing.B, clients int, call func() error) {
	b.ReportAllocs()
	took := make([]time.Duration, b.N)
	b.ResetTimer()
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := c; i < b.N; i += clients {
				begun := time.Now()
				if err := call(); err != nil {
					b.Error(err)
					return
				}
				took[i] = time.Since(begun)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
	percentiles(b, took, 50, 99)
}

// percentiles reports them in microseconds.
func percentiles(b *testing.B, took []time.Duration, which ...int) {
	slices.Sort(took)
	for _, p := range which {
		b.ReportMetric(float64(took[len(took)*p/100].Nanoseconds())/1000, "p"+itoa(p)+"-µs")
	}
}

func relayed(b *testing.B, server mcpconfig.Server) {
	for _, clients := range []int{1, 16, 64} {
		b.Run(itoa(clients), func(b *testing.B) {
			t := start(b, func(o *Options) { o.Logger = nil })
			t.r.Reconcile([]mcpconfig.Server{server})
			e := t.offered("s")
			client := &asker{}
			parallel(b, clients, func() error {
				_, err := e.Server.Call(context.Background(), mcp.Request{Method: "tools/call", Params: benchParams, Client: client})
				return err
			})
		})
	}
}

func itoa(n int) string { return string(formatID(int64(n))) }

func BenchmarkStdioCall(b *testing.B) { relayed(b, helper(b, "s", "swift")) }

func BenchmarkHTTPCall(b *testing.B) {
	relayed(b, remoteServer("s", serve(b, http.HandlerFunc(swiftHTTP)), mcpconfig.TransportHTTP))
}

// BenchmarkStdioEcho is the limit for BenchmarkStdioCall: the same child, spoken to with nothing but a table of ids.
func BenchmarkStdioEcho(b *testing.B) {
	for _, clients := range []int{1, 16, 64} {
		b.Run(itoa(clients), func(b *testing.B) {
			d := startDirect(b)
			parallel(b, clients, d.call)
			d.close(b)
		})
	}
}

// direct is the least a client of a server on stdio can be.
type direct struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	reading sync.WaitGroup

	mu    sync.Mutex
	next  int64
	calls map[int64]chan json.RawMessage
}

func startDirect(b *testing.B) *direct {
	d := &direct{cmd: exec.CommandContext(context.Background(), os.Args[0]), calls: map[int64]chan json.RawMessage{}}
	d.cmd.Env = append(os.Environ(), helperVariable+"=swift")
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	d.reading.Go(func() {
		lines := bufio.NewReaderSize(out, 64<<10)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			m, err := wire.Parse(line)
			if err != nil {
				return
			}
			id, _ := parseID(m.ID)
			d.mu.Lock()
			answer := d.calls[id]
			delete(d.calls, id)
			d.mu.Unlock()
			answer <- m.Result
		}
	})
	return d
}

func (d *direct) call() error {
	answer := make(chan json.RawMessage, 1)
	d.mu.Lock()
	d.next++
	d.calls[d.next] = answer
	line := append((&wire.Message{ID: formatID(d.next), Method: "tools/call", Params: benchParams}).Append(nil), '\n')
	_, err := d.in.Write(line)
	d.mu.Unlock()
	if err == nil {
		<-answer
	}
	return err
}

func (d *direct) close(b *testing.B) {
	if err := d.in.Close(); err != nil {
		b.Error(err)
	}
	d.reading.Wait()
	if err := d.cmd.Wait(); err != nil {
		b.Error(err)
	}
}

// BenchmarkHTTPEcho is the limit for BenchmarkHTTPCall: one POST to the same handler.
func BenchmarkHTTPEcho(b *testing.B) {
	url := serve(b, http.HandlerFunc(swiftHTTP))
	for _, clients := range []int{1, 16, 64} {
		b.Run(itoa(clients), func(b *testing.B) { post(b, clients, url, "t") })
	}
}

// post calls a tool by plain POSTs.
func post(b *testing.B, clients int, url, tool string) {
	call, closing := poster(clients, url, tool)
	defer closing()
	parallel(b, clients, call)
}

func poster(clients int, url, tool string) (call func() error, closing func()) {
	params := wire.Set(benchParams, "name", wire.Quote(tool))
	body := (&wire.Message{ID: formatID(1), Method: "tools/call", Params: params}).Append(nil)
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	client := http.Client{Transport: transport}
	return func() error {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		data, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err == nil && !bytes.Contains(data, []byte(`"hello"`)) {
			err = fmt.Errorf("answered %s", data)
		}
		return err
	}, transport.CloseIdleConnections
}

// BenchmarkThrough is a POST to our listener with the server behind it: all that a client sees of us. Read it against
// BenchmarkHTTPEcho, which is what the same client gets from a bare net/http handler.
func BenchmarkThrough(b *testing.B) {
	throughUs(b, func(b *testing.B, clients int, url string) { post(b, clients, url, "s__t") })
}

// BenchmarkRatio takes turns between the two, 20 calls of each client at a time, so that the rest of the machine slows
// both alike. "ratio" is our rate by the bare handler's, and "added" our median time less its, both the median of all
// turns. Read "added" of stdio against that of BenchmarkRatioOfLeast.
func BenchmarkRatio(b *testing.B) {
	throughUs(b, func(b *testing.B, clients int, url string) { ratio(b, clients, url, "s__t") })
}

// BenchmarkRatioOfLeast is BenchmarkRatio with the least that a relay to a child process can be: a net/http handler that
// parses the request and passes it on with nothing but a table of ids. What it adds is the price of a second process.
func BenchmarkRatioOfLeast(b *testing.B) {
	for _, clients := range []int{1, 16, 64} {
		b.Run("stdio/"+itoa(clients), func(b *testing.B) {
			d := startDirect(b)
			ratio(b, clients, serve(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				m, err := wire.Parse(body)
				if err == nil {
					err = d.call()
				}
				if err != nil {
					b.Error(err)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(wire.Response(m.ID, swift(m)).Append(nil))
			})), "t")
			d.close(b)
		})
	}
}

func ratio(b *testing.B, clients int, url, tool string) {
	const each = 20
	bare, closeBare := poster(clients, serve(b, http.HandlerFunc(swiftHTTP)), "t")
	defer closeBare()
	ours, closeOurs := poster(clients, url, tool)
	defer closeOurs()
	var ratios []float64
	var added []time.Duration
	for b.Loop() {
		all, median := turn(b, clients, each, bare)
		allOurs, medianOurs := turn(b, clients, each, ours)
		ratios = append(ratios, all.Seconds()/allOurs.Seconds())
		added = append(added, medianOurs-median)
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	slices.Sort(added)
	b.ReportMetric(float64(added[len(added)/2].Nanoseconds())/1000, "added-p50-µs")
	b.ReportMetric(0, "ns/op")
}

// turn is the time of all calls together and the median of one.
func turn(b *testing.B, clients, each int, call func() error) (all, median time.Duration) {
	took := make([]time.Duration, clients*each)
	var wg sync.WaitGroup
	begun := time.Now()
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				one := time.Now()
				if err := call(); err != nil {
					b.Error(err)
				}
				took[c*each+i] = time.Since(one)
			}
		})
	}
	wg.Wait()
	all = time.Since(begun)
	slices.Sort(took)
	return all, took[len(took)/2]
}

// throughUs runs a benchmark against a listener of ours, for each transport of the server behind it.
func throughUs(b *testing.B, run func(b *testing.B, clients int, url string)) {
	for _, upstream := range []mcpconfig.Server{
		helper(b, "s", "swift"),
		remoteServer("s", serve(b, http.HandlerFunc(swiftHTTP)), mcpconfig.TransportHTTP),
	} {
		for _, clients := range []int{1, 16, 64} {
			b.Run(upstream.Transport.String()+"/"+itoa(clients), func(b *testing.B) {
				catalogue := mcp.NewCatalogue()
				t := start(b, func(o *Options) { o.Logger = nil })
				t.r.Reconcile([]mcpconfig.Server{upstream})
				catalogue.Set([]mcp.Entry{t.offered("s")})
				listener := mcp.NewListener(mcp.Options{Catalogue: catalogue})
				run(b, clients, serve(b, listener))
				if err := listener.Close(context.Background()); err != nil {
					b.Error(err)
				}
			})
		}
	}
}
