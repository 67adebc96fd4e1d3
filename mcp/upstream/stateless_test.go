package upstream

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
	"github.com/traposd/traposd/mcpconfig"
)

// modern is a server that knows revision 2026-07-28 only.
type modern struct {
	t *testing.T

	mu       sync.Mutex
	listened []string // params of subscriptions/listen, in order
	level    string
}

func (f *modern) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	m, err := wire.Parse(body)
	if err != nil {
		f.t.Errorf("we sent %s: %v", body, err)
		return
	}
	if m.Method == "initialize" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write(wire.ErrorResponse(m.ID, wire.Errorf(wire.CodeMethodNotFound, "initialize is gone")).Append(nil))
		return
	}
	meta, _ := wire.Get(m.Params, "_meta")
	revision, _ := wire.Get(meta, metaRevision)
	if string(revision) != `"2026-07-28"` || r.Header.Get(headerRevision) != revisionStateless || r.Header.Get("Mcp-Method") != m.Method {
		f.t.Errorf("%s came with %s and headers %v", m.Method, meta, r.Header)
	}
	switch m.Method {
	case "server/discover":
		answer(w, m, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{"subscribe":true}}}`)
	case "tools/list":
		answer(w, m, `{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}]}`)
	case "resources/list":
		answer(w, m, `{"resultType":"complete","resources":[{"uri":"x://y","name":"y"}]}`)
	case "resources/templates/list":
		answer(w, m, `{"resultType":"complete","resourceTemplates":[]}`)
	case "tools/call":
		f.call(w, m, meta)
	case "subscriptions/listen":
		f.mu.Lock()
		f.listened = append(f.listened, string(m.Params))
		f.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://y","_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`+"\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		f.t.Errorf("method %s reached the server", m.Method)
	}
}

func (f *modern) call(w http.ResponseWriter, m *wire.Message, meta []byte) {
	level, _ := wire.Get(meta, metaLogLevel)
	f.mu.Lock()
	f.level = string(level)
	f.mu.Unlock()
	answers, ok := wire.Get(m.Params, "inputResponses")
	if !ok {
		answer(w, m, `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"sure?"}}},"requestState":"s1"}`)
		return
	}
	state, _ := wire.Get(m.Params, "requestState")
	answer(w, m, `{"resultType":"complete","content":[],"answers":`+string(answers)+`,"state":`+string(state)+`}`)
}

// roundTripper is a client of revision 2026-07-28.
type roundTripper struct{ asker }

func (*roundTripper) TakesInputRequired() bool { return true }

func TestStatelessOnlyServer(t *testing.T) {
	f := &modern{t: t}
	b := start(t)
	b.r.Reconcile([]mcpconfig.Server{remoteServer("s", serve(t, f), mcpconfig.TransportHTTP)})
	e := b.offered("s")
	if got := b.status("s").Revision; got != revisionStateless {
		t.Fatalf("revision %s", got)
	}
	client := &asker{answer: `{"action":"accept"}`}
	result, err := b.callWith(context.Background(), e, "t", `{}`, nil, client)
	if err != nil || result != `{"resultType":"complete","content":[],"answers":{"q":{"action":"accept"}},"state":"s1"}` {
		t.Errorf("result %s, error %v", result, err)
	}
	if len(client.asked) != 1 || client.asked[0] != `elicitation/create {"message":"sure?"}` {
		t.Errorf("asked %v", client.asked)
	}
	result, err = b.call(e, "t", `{}`)
	if err != nil || !strings.Contains(result, "input_required") {
		t.Errorf("for a client that cannot be asked: result %s, error %v", result, err)
	}
	tripper := &roundTripper{asker: asker{answer: `{"action":"accept"}`}}
	result, err = b.callWith(context.Background(), e, "t", `{}`, nil, tripper)
	if want := `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"sure?"}}},"requestState":"s1"}`; err != nil || result != want {
		t.Errorf("for a client of that revision: result %s, error %v", result, err)
	}
	if len(tripper.asked) != 0 {
		t.Errorf("it was asked %v", tripper.asked)
	}
	retry := mcp.Request{Method: "tools/call", Client: tripper, Params: []byte(`{"name":"t","inputResponses":{"q":{"action":"decline"}},"requestState":"s1"}`)}
	raw, err := e.Server.Call(context.Background(), retry)
	if want := `{"resultType":"complete","content":[],"answers":{"q":{"action":"decline"}},"state":"s1"}`; err != nil || string(raw) != want {
		t.Errorf("its next request: result %s, error %v", raw, err)
	}
	for _, req := range []mcp.Request{
		{Method: "ping"}, {Method: "logging/setLevel", Params: []byte(`{"level":"debug"}`)}, {Method: "resources/subscribe", Params: []byte(`{"uri":"x://y"}`)},
	} {
		req.Client = client
		if result, err := e.Server.Call(context.Background(), req); err != nil || string(result) != `{}` {
			t.Errorf("%s: %s, %v", req.Method, result, err)
		}
	}
	b.await("the resource is watched", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.notes) > 0
	})
	if b.notes[0] != `notifications/resources/updated {"uri":"x://y"}` {
		t.Errorf("notified of %v", b.notes)
	}
	if _, err := b.call(e, "t", `{}`); err != nil || f.level != `"debug"` {
		t.Errorf("log level %s, error %v", f.level, err)
	}
}
