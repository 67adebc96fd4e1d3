package upstream

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/traposd/traposd/mcp/wire"
	"github.com/traposd/traposd/mcpconfig"
)

// serve runs a handler on loopback until the test ends.
func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// peers are the official SDK's servers behind each kind of remote transport.
func peers() map[string]struct {
	transport mcpconfig.Transport
	handler   func(*sdk.Server) http.Handler
	revision  string
	asks      bool // a server-to-client request can reach us
} {
	type peer = struct {
		transport mcpconfig.Transport
		handler   func(*sdk.Server) http.Handler
		revision  string
		asks      bool
	}
	streamable := func(o sdk.StreamableHTTPOptions) func(*sdk.Server) http.Handler {
		return func(s *sdk.Server) http.Handler {
			return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &o)
		}
	}
	return map[string]peer{
		"stateful":       {mcpconfig.TransportHTTP, streamable(sdk.StreamableHTTPOptions{}), revisionSession, true},
		"stateful, JSON": {mcpconfig.TransportHTTP, streamable(sdk.StreamableHTTPOptions{JSONResponse: true}), revisionSession, false},
		"stateless":      {mcpconfig.TransportHTTP, streamable(sdk.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true}), revisionStateless, false},
		"sse": {mcpconfig.TransportSSE, func(s *sdk.Server) http.Handler {
			return sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return s }, nil)
		}, revisionSession, true},
	}
}

func TestRemoteOfSDK(t *testing.T) {
	for name, peer := range peers() {
		t.Run(name, func(t *testing.T) {
			url := serve(t, peer.handler(sdkServer()))
			b := start(t)
			b.r.Reconcile([]mcpconfig.Server{remoteServer("s", url, peer.transport)})
			e := b.offered("s")
			if got := toolNames(e); len(got) != 5 || len(e.Prompts) != 1 || len(e.Resources) != 1 {
				t.Fatalf("tools %v, prompts %v, resources %v", got, e.Prompts, e.Resources)
			}
			if got := b.status("s").Revision; got != peer.revision {
				t.Errorf("revision %s, want %s", got, peer.revision)
			}
			result, err := b.call(e, "greet", `{"text":"you"}`)
			if err != nil || text(t, result) != "hello you" {
				t.Errorf("result %s, error %v", result, err)
			}
			if peer.asks {
				result, err = b.callWith(context.Background(), e, "ask", `{}`, nil, &asker{answer: `{"action":"accept","content":{}}`})
				if err != nil || text(t, result) != "accept" {
					t.Errorf("asking: result %s, error %v", result, err)
				}
			}
			if name != "stateful, JSON" { // there, the SDK sends no progress
				var steps []string
				_, err = b.callWith(context.Background(), e, "count", `{}`, func(p json.RawMessage) {
					step, _ := wire.Get(p, "progress")
					steps = append(steps, string(step))
				}, &asker{})
				if err != nil || len(steps) != 5 || steps[0] != "1" || steps[4] != "5" {
					t.Errorf("progress %v, error %v", steps, err)
				}
			}
			cancelHanging(t, b)
			if _, err := b.call(e, "grow", `{}`); err != nil {
				t.Fatal(err)
			}
			b.await("the new tool is offered", func() bool {
				e, _ := b.entry("s")
				return has(toolNames(e), "grown")
			})
		})
	}
}

func cancelHanging(t *testing.T, b *bench) {
	t.Helper()
	e, _ := b.entry("s")
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := b.callWith(ctx, e, "hang", `{}`, nil, &asker{}); err == nil {
			t.Error("a cancelled call gave a result")
		}
	})
	<-hanging
	cancel()
	<-hanging
	wg.Wait()
}

func TestManyCallsAtOnce(t *testing.T) {
	for name, peer := range peers() {
		t.Run(name, func(t *testing.T) {
			url := serve(t, peer.handler(sdkServer()))
			b := start(t)
			b.r.Reconcile([]mcpconfig.Server{remoteServer("s", url, peer.transport)})
			e := b.offered("s")
			var wg sync.WaitGroup
			for i := range 16 {
				who := string(rune('a' + i))
				wg.Go(func() {
					for range 2 + 10/slowdown {
						result, err := b.call(e, "greet", `{"text":"`+who+`"}`)
						if err != nil || text(t, result) != "hello "+who {
							t.Errorf("result %s, error %v", result, err)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}
