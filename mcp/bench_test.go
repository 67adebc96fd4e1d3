package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/traposd/traposd/mcp"
)

// BenchmarkCall is the rate of one tools/call of a tool that does nothing, by era and by the number of clients at one time.
// Read it against "bare": a net/http handler that decodes the request with encoding/json and echoes it. The target is
// 0.6 of that rate; the official SDK's handler reaches 0.16.
func BenchmarkCall(b *testing.B) {
	for _, variant := range callVariants(b) {
		for _, clients := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/clients=%d", variant.name, clients), func(b *testing.B) {
				load(b, clients, variant.url, variant.body, variant.headers)
			})
		}
	}
}

// BenchmarkRatio is our rate by that of the bare handler, which take turns, so that other work on the machine slows both
// alike: the median of all turns. The target is 0.6.
func BenchmarkRatio(b *testing.B) {
	variants := callVariants(b)
	bare, ours := variants[0], variants[1:]
	for _, variant := range ours {
		for _, clients := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/clients=%d", variant.name, clients), func(b *testing.B) {
				transport := &http.Transport{MaxIdleConnsPerHost: clients, MaxConnsPerHost: clients}
				defer transport.CloseIdleConnections()
				client := &http.Client{Transport: transport}
				turn := func(v callVariant) float64 { return turnOf(b, client, clients, v).Seconds() }
				turn(bare)
				turn(variant) // connections are there
				var ratios []float64
				for i := 0; b.Loop(); i++ {
					if i%2 == 0 {
						theirs := turn(bare)
						ratios = append(ratios, theirs/turn(variant))
					} else {
						mine := turn(variant)
						ratios = append(ratios, turn(bare)/mine)
					}
				}
				slices.Sort(ratios)
				b.ReportMetric(ratios[len(ratios)/2], "rate")
				b.ReportMetric(0, "ns/op") // of a pair of turns, which says nothing
			})
		}
	}
}

// turnOf is the time that so many clients take for at least 5 calls each and 100 in all: short enough for many turns.
func turnOf(b *testing.B, client *http.Client, clients int, v callVariant) time.Duration {
	each := max(5, 100/clients)
	began := time.Now()
	var group sync.WaitGroup
	for c := range clients {
		group.Go(func() {
			for i := range each {
				if err := send(client, v.url, v.body, v.headers, int64(c*each+i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	return time.Since(began)
}

// callVariant is a way to make one call.
type callVariant struct {
	name, url, body string
	headers         []string
}

// callVariants are a bare handler's, first, and all of ours.
func callVariants(b *testing.B) []callVariant {
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__noop","arguments":{"a":1}%s}}`
	const meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	result := json.RawMessage(`{"content":[{"type":"text","text":"ok"}]}`)
	noop := serverFunc(func(context.Context, mcp.Request) (json.RawMessage, error) { return result, nil })
	bed := newBed(b, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Server: noop, Tools: tools("noop")})
	bare := httptest.NewServer(http.HandlerFunc(echoJSON))
	b.Cleanup(bare.Close)
	session := bed.session(b, mcp.Revision20251125, "{}")
	return []callVariant{
		{"bare", bare.URL, fmt.Sprintf(body, ""), nil},
		{"plain", bed.url, fmt.Sprintf(body, ""), nil},
		{"session", bed.url, fmt.Sprintf(body, ""), []string{"Mcp-Session-Id", session, "Accept", acceptBoth, "Mcp-Protocol-Version", mcp.Revision20251125}},
		{"2026-07-28", bed.url, fmt.Sprintf(body, meta), []string{"Accept", acceptBoth, "Mcp-Protocol-Version", mcp.Revision20260728, "Mcp-Method", "tools/call", "Mcp-Name", "s__noop"}},
	}
}

// BenchmarkHandler is the same without any network: what the handler itself costs, beside the bare one.
func BenchmarkHandler(b *testing.B) {
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__noop","arguments":{"a":1}}}`
	result := json.RawMessage(`{"content":[{"type":"text","text":"ok"}]}`)
	noop := serverFunc(func(context.Context, mcp.Request) (json.RawMessage, error) { return result, nil })
	bed := newBed(b, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Server: noop, Tools: tools("noop")})
	session := bed.session(b, mcp.Revision20251125, "{}")
	for _, variant := range []struct {
		name    string
		handler http.Handler
		headers map[string]string
	}{
		{"bare", http.HandlerFunc(echoJSON), nil},
		{"plain", bed, nil},
		{"session", bed, map[string]string{"Mcp-Session-Id": session, "Accept": acceptBoth}},
	} {
		b.Run(variant.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				for name, value := range variant.headers {
					r.Header.Set(name, value)
				}
				variant.handler.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
}

// load sends b.N requests from that many clients.
func load(b *testing.B, clients int, url, body string, headers []string) {
	transport := &http.Transport{MaxIdleConnsPerHost: clients, MaxConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	var id atomic.Int64
	b.SetParallelism((clients + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
	b.ReportAllocs()
	if clients == 1 {
		for b.Loop() {
			if err := send(client, url, body, headers, id.Add(1)); err != nil {
				b.Fatal(err)
			}
		}
	} else {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := send(client, url, body, headers, id.Add(1)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// send makes one call.
func send(client *http.Client, url, body string, headers []string, id int64) error {
	text := strings.Replace(body, `"id":1`, fmt.Sprintf(`"id":%d`, id), 1)
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, strings.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err == nil && !bytes.Contains(data, []byte(`"result"`)) {
		err = fmt.Errorf("answered %s", data)
	}
	return err
}

// echoJSON is the least that any JSON-RPC server over net/http does.
func echoJSON(w http.ResponseWriter, r *http.Request) {
	var request struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": request.Params})
}

// BenchmarkListTools is one tools/list of 500 tools, from the cached encoding.
func BenchmarkListTools(b *testing.B) {
	bed := newBed(b, mcp.Options{}, manyTools(500)...)
	load(b, 1, bed.url, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil)
}

// BenchmarkSet replaces a catalogue of 500 tools by one that differs in one tool.
func BenchmarkSet(b *testing.B) {
	catalogue := mcp.NewCatalogue()
	entries := manyTools(500)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		entries[0].Tools = tools(fmt.Sprint("t", i))
		catalogue.Set(entries)
	}
}

func manyTools(n int) []mcp.Entry {
	const perServer = 50
	description := strings.Repeat("what this tool does and when to use it. ", 10)
	var entries []mcp.Entry
	for i := 0; i < n; i += perServer {
		entry := mcp.Entry{ID: fmt.Sprint(i), Name: fmt.Sprint("server", i), Server: echo}
		for j := range perServer {
			name := fmt.Sprint("tool", j)
			entry.Tools = append(entry.Tools, mcp.Definition{Name: name, Raw: json.RawMessage(fmt.Sprintf(
				`{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`, name, description))})
		}
		entries = append(entries, entry)
	}
	return entries
}

// BenchmarkIdleSessions reports the memory of a session that has nothing but its entry, and of one with an open stream,
// goroutines, connections and the client's side of them included.
func BenchmarkIdleSessions(b *testing.B) {
	const sessions = 1000
	for _, streams := range []bool{false, true} {
		b.Run(fmt.Sprintf("streams=%v", streams), func(b *testing.B) {
			for b.Loop() {
				bed := newBed(b, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Server: echo, Tools: tools("noop")})
				before := inUse()
				ctx, cancel := context.WithCancel(context.Background())
				bodies := make([]io.Closer, 0, sessions)
				for range sessions {
					id := bed.session(b, mcp.Revision20251125, "{}")
					if streams {
						stream := bed.open(ctx, b, http.MethodGet, "", "Mcp-Session-Id", id, "Accept", "text/event-stream") //nolint:bodyclose // below, with all others
						bodies = append(bodies, stream.Body)
					}
				}
				b.ReportMetric(float64(inUse()-before)/sessions/1024, "KiB/session")
				cancel()
				for _, body := range bodies {
					_ = body.Close()
				}
			}
		})
	}
}

func inUse() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapInuse + stats.StackInuse)
}
