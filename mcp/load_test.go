package mcp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/traposd/traposd/mcp"
)

// discard is a response that keeps nothing but where the largest part of it is in memory.
type discard struct {
	header http.Header
	status int
	at     *byte
	size   int
}

func (d *discard) Header() http.Header    { return d.header }
func (d *discard) WriteHeader(status int) { d.status = status }
func (d *discard) Write(p []byte) (int, error) {
	if len(p) > d.size {
		d.at, d.size = unsafe.SliceData(p), len(p)
	}
	return len(p), nil
}

// A list is answered from its encoding: 500 tools cost no allocation more than 50, and the bytes that are written are those
// in the catalogue, not a copy.
func TestAListNeedsNoWorkPerTool(t *testing.T) {
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{%s}}`
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for _, era := range []struct {
		name, body string
		headers    map[string]string
	}{
		{"session", fmt.Sprintf(list, ""), map[string]string{"Accept": acceptBoth}},
		{"2026-07-28", fmt.Sprintf(list, meta), map[string]string{"Accept": acceptBoth, "Mcp-Protocol-Version": mcp.Revision20260728, "Mcp-Method": "tools/list"}},
	} {
		t.Run(era.name, func(t *testing.T) {
			allocations := map[int]float64{}
			for _, tools := range []int{50, 500} {
				b := newBed(t, mcp.Options{}, manyTools(tools)...)
				headers := map[string]string{"Content-Type": "application/json"}
				if era.name == "session" {
					headers["Mcp-Session-Id"] = b.session(t, mcp.Revision20251125, "{}")
				}
				for name, value := range era.headers {
					headers[name] = value
				}
				serve := func() *discard {
					r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://localhost/mcp", strings.NewReader(era.body))
					if err != nil {
						t.Fatal(err)
					}
					for name, value := range headers {
						r.Header.Set(name, value)
					}
					d := &discard{header: http.Header{}}
					b.ServeHTTP(d, r)
					return d
				}
				first, second := serve(), serve()
				if first.status != http.StatusOK || first.size < 100*tools || first.at != second.at {
					t.Fatalf("%d tools: status %d, a part of %d bytes, the same memory: %v", tools, first.status, first.size, first.at == second.at)
				}
				allocations[tools] = testing.AllocsPerRun(100, func() { serve() })
			}
			if allocations[500] > allocations[50]+1 { // one may come from elsewhere in the process
				t.Errorf("allocations by tools: %v", allocations)
			}
		})
	}
}

// piped serves a listener over connections in memory, so that no limit of the system's is in the way.
func piped(t *testing.T, l *mcp.Listener) *http.Client {
	t.Helper()
	server := &http.Server{Handler: l, ReadHeaderTimeout: patience}
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(p) }()
	transport := &http.Transport{
		MaxIdleConnsPerHost: 64,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			select {
			case p.conns <- theirs:
				return ours, nil
			case <-p.closed:
				return nil, net.ErrClosed
			}
		},
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return &http.Client{Transport: transport}
}

// inTurns runs f for 0 to n-1, a few at one time.
func inTurns(n int, f func(i int)) {
	const atOnce = 32
	slots := make(chan struct{}, atOnce)
	var group sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	group.Wait()
}

// A thousand sessions with a stream each hear of a change once, and nothing is left of them when the listener closes.
func TestAThousandSessions(t *testing.T) {
	const sessions = 1000
	catalogue := mcp.NewCatalogue()
	catalogue.Set([]mcp.Entry{{ID: "s", Name: "s", Server: echo, Tools: tools("t")}})
	l := mcp.NewListener(mcp.Options{Catalogue: catalogue})
	client := piped(t, l)
	send := func(method, body string, headers map[string]string) *http.Response {
		r, err := http.NewRequestWithContext(context.Background(), method, "http://localhost/mcp", strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return nil
		}
		r.Header.Set("Content-Type", "application/json")
		for name, value := range headers {
			r.Header.Set(name, value)
		}
		response, err := client.Do(r)
		if err != nil {
			t.Error(err)
			return nil
		}
		return response
	}
	streams := make([]*http.Response, sessions)
	inTurns(sessions, func(i int) {
		opened := send(http.MethodPost, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`, nil)
		if opened == nil {
			return
		}
		_, _ = io.Copy(io.Discard, opened.Body)
		_ = opened.Body.Close()
		streams[i] = send(http.MethodGet, "", map[string]string{"Accept": "text/event-stream", "Mcp-Session-Id": opened.Header.Get("Mcp-Session-Id")}) //nolint:bodyclose // below, with all others
	})
	if t.Failed() {
		t.FailNow()
	}
	equal(t, "sessions", len(l.Sessions()), sessions)

	catalogue.Set([]mcp.Entry{{ID: "s", Name: "s", Server: echo, Tools: tools("t", "u")}})
	readers := make([]*bufio.Reader, sessions)
	var group sync.WaitGroup
	expect := func(what, want string) {
		for i, stream := range streams {
			if readers[i] == nil {
				readers[i] = bufio.NewReader(stream.Body)
			}
			group.Go(func() {
				if got := nextData(readers[i]); got != want {
					t.Errorf("%s: session %d got %q", what, i, got)
				}
			})
		}
		group.Wait()
	}
	expect("the change", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	l.Broadcast("s", "notifications/marker", nil)
	expect("nothing else", mark)

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := l.Close(ctx); err != nil {
		t.Errorf("the listener did not close: %v", err)
	}
	for _, stream := range streams {
		_ = stream.Body.Close()
	}
	equal(t, "sessions", len(l.Sessions()), 0)
}

// nextData reads the data of one event.
func nextData(r *bufio.Reader) string {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return err.Error()
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			return strings.TrimSuffix(data, "\n")
		}
	}
}
