package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/traposd/traposd/mcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type serverFunc func(ctx context.Context, req mcp.Request) (json.RawMessage, error)

func (f serverFunc) Call(ctx context.Context, req mcp.Request) (json.RawMessage, error) {
	return f(ctx, req)
}

// marking is a server whose tool wants its argument "region" repeated in a header of that name.
func marking(header string) mcp.Entry {
	noop := serverFunc(func(context.Context, mcp.Request) (json.RawMessage, error) {
		return json.RawMessage(`{"content":[]}`), nil
	})
	raw := fmt.Sprintf(`{"name":"t","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":%q}}}}`, header)
	return mcp.Entry{ID: "s", Name: "s", Server: noop, Tools: []mcp.Definition{{Name: "t", Raw: json.RawMessage(raw)}}}
}

// wired is a client on the other side of a bridge to a listener.
type wired struct {
	catalogue *mcp.Catalogue
	in        *io.PipeWriter
	out       *bufio.Scanner

	mu      sync.Mutex
	methods []string // guarded by mu: what was posted, by Mcp-Method
}

func wire2026(t *testing.T) *wired {
	t.Helper()
	w := &wired{catalogue: mcp.NewCatalogue()}
	listener := mcp.NewListener(mcp.Options{Catalogue: w.catalogue})
	web := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.methods = append(w.methods, r.Header.Get("Mcp-Method"))
		w.mu.Unlock()
		listener.ServeHTTP(rw, r)
	}))
	toBridge, fromClient := io.Pipe()
	toClient, fromBridge := io.Pipe()
	w.in, w.out = fromClient, bufio.NewScanner(toClient)
	ended := make(chan error, 1)
	go func() {
		ended <- Run(context.Background(), Options{
			Locate: func(context.Context) (string, error) { return web.URL + "/mcp", nil },
			In:     toBridge, Out: fromBridge,
		})
		_ = fromBridge.Close()
	}()
	t.Cleanup(func() {
		_ = fromClient.Close()
		if err := <-ended; err != nil {
			t.Errorf("the bridge ended with %v", err)
		}
		if err := listener.Close(context.Background()); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	return w
}

// ask sends a request of a 2026-07-28 client and reads one line.
func (w *wired) ask(t *testing.T, method, params string) string {
	t.Helper()
	_, err := fmt.Fprintf(w.in, `{"jsonrpc":"2.0","id":1,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{}}%s}}`+"\n", method, params)
	if err != nil {
		t.Fatal(err)
	}
	if !w.out.Scan() {
		t.Fatalf("no answer: %v", w.out.Err())
	}
	return w.out.Text()
}

func (w *wired) posted() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := strings.Join(w.methods, " ")
	w.methods = nil
	return all
}

// A client on stdio sends no headers; the bridge repeats in them what the tool's schema marks, whether the client has listed
// the tools or not, and when the schema has changed since.
func TestArgumentsAreRepeatedInHeaders(t *testing.T) {
	w := wire2026(t)
	const call = `,"name":"s__t","arguments":{"region":"é"}`
	w.catalogue.Set([]mcp.Entry{marking("Region")})
	for _, row := range []struct{ what, method, params, posted string }{
		{"without a list", "tools/call", call, "tools/call tools/list tools/call"},
		{"once it is known", "tools/call", call, "tools/call"},
		{"a list", "tools/list", "", "tools/list"},
		{"after it", "tools/call", call, "tools/call"},
		{"without the argument", "tools/call", `,"name":"s__t","arguments":{}`, "tools/call"},
	} {
		if got := w.ask(t, row.method, row.params); !strings.Contains(got, `"result"`) {
			t.Errorf("%s: answered %s", row.what, got)
		}
		if got := w.posted(); got != row.posted {
			t.Errorf("%s: posted %s, want %s", row.what, got, row.posted)
		}
	}
	w.catalogue.Set([]mcp.Entry{marking("Place")})
	if got := w.ask(t, "tools/call", call); !strings.Contains(got, `"result"`) {
		t.Errorf("after a change: answered %s", got)
	}
	if got := w.ask(t, "tools/call", `,"name":"s__nothing"`); !strings.Contains(got, `"code":-32602`) {
		t.Errorf("an unknown tool: answered %s", got)
	}
}
