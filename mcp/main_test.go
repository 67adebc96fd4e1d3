package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait for something that is to happen at once.
const patience = 10 * time.Second

// serverFunc is a Server made of one function.
type serverFunc func(ctx context.Context, req mcp.Request) (json.RawMessage, error)

func (f serverFunc) Call(ctx context.Context, req mcp.Request) (json.RawMessage, error) {
	return f(ctx, req)
}

// echo answers with the params that it got, as structured content.
var echo = serverFunc(func(_ context.Context, req mcp.Request) (json.RawMessage, error) {
	params := req.Params
	if params == nil {
		params = json.RawMessage("null")
	}
	return json.RawMessage(`{"content":[{"type":"text","text":"ok"}],"structuredContent":{"method":` +
		string(wire.Quote(req.Method)) + `,"params":` + string(params) + `}}`), nil
})

func tool(name string) mcp.Definition {
	return mcp.Definition{Name: name, Raw: json.RawMessage(`{"name":` + string(wire.Quote(name)) + `,"inputSchema":{"type":"object"}}`)}
}

func tools(names ...string) (list []mcp.Definition) {
	for _, name := range names {
		list = append(list, tool(name))
	}
	return list
}

// bed is a listener behind a real HTTP server.
type bed struct {
	*mcp.Listener
	catalogue *mcp.Catalogue
	url       string
	client    *http.Client
	web       *httptest.Server
}

func newBed(tb testing.TB, options mcp.Options, entries ...mcp.Entry) *bed {
	tb.Helper()
	if options.Catalogue == nil {
		options.Catalogue = mcp.NewCatalogue()
	}
	options.Catalogue.Set(entries)
	options.Version = "1.2.3"
	l := mcp.NewListener(options)
	web := httptest.NewServer(l)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := l.Close(ctx); err != nil {
			tb.Errorf("the listener did not close: %v", err)
		}
		web.CloseClientConnections()
		web.Close()
	})
	return &bed{Listener: l, catalogue: options.Catalogue, url: web.URL + "/mcp", client: web.Client(), web: web}
}

// answer is what came back over HTTP.
type answer struct {
	status int
	header http.Header
	body   string
}

// send sends one request; headers are pairs, and override the usual ones.
func (b *bed) send(tb testing.TB, method, body string, headers ...string) answer {
	tb.Helper()
	response := b.open(context.Background(), tb, method, body, headers...)
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(data)}
}

// post sends one JSON-RPC message.
func (b *bed) post(tb testing.TB, body string, headers ...string) answer {
	tb.Helper()
	return b.send(tb, http.MethodPost, body, headers...)
}

// open sends a request and leaves the response's body to be read.
func (b *bed) open(ctx context.Context, tb testing.TB, method, body string, headers ...string) *http.Response {
	tb.Helper()
	request, err := http.NewRequestWithContext(ctx, method, b.url, bytes.NewReader([]byte(body)))
	if err != nil {
		tb.Fatal(err)
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		switch {
		case headers[i] == "Host":
			request.Host = headers[i+1]
		case headers[i+1] == "":
			request.Header.Del(headers[i])
		default:
			request.Header.Add(headers[i], headers[i+1])
		}
	}
	response, err := b.client.Do(request)
	if err != nil {
		tb.Fatal(err)
	}
	return response
}

const acceptBoth = "application/json, text/event-stream"

// session opens a session and gives its id.
func (b *bed) session(tb testing.TB, revision, capabilities string) string {
	tb.Helper()
	a := b.post(tb, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+revision+
		`","capabilities":`+capabilities+`,"clientInfo":{"name":"test","version":"1"}}}`, "Accept", acceptBoth)
	id := a.header.Get("Mcp-Session-Id")
	if a.status != http.StatusOK || id == "" {
		tb.Fatalf("initialize: %d %s", a.status, a.body)
	}
	return id
}

// events reads the messages of an event stream.
type events struct {
	messages chan string
	close    func()
}

// stream opens an event stream and reads it in the background until it ends or the test does.
func (b *bed) stream(tb testing.TB, method, body string, headers ...string) *events {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	response := b.open(ctx, tb, method, body, headers...) //nolint:bodyclose // closed by events.close
	if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" {
		data, _ := io.ReadAll(response.Body)
		cancel()
		_ = response.Body.Close()
		tb.Fatalf("no event stream but %d %s: %s", response.StatusCode, kind, data)
	}
	e := &events{messages: make(chan string, 1000)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(e.messages)
		readEvents(response.Body, e.messages)
	}()
	e.close = func() {
		cancel()
		<-ended
		_ = response.Body.Close()
	}
	tb.Cleanup(e.close)
	return e
}

// readEvents passes on the data of each event until the body ends.
func readEvents(body io.Reader, messages chan<- string) {
	reader := bufio.NewReader(body)
	var data []string
	for {
		line, err := reader.ReadString('\n')
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			data = append(data, strings.TrimSuffix(text, "\n"))
		}
		if line == "\n" && data != nil {
			messages <- strings.Join(data, "\n")
			data = nil
		}
		if err != nil {
			return
		}
	}
}

// next waits for a message.
func (e *events) next(tb testing.TB) string {
	tb.Helper()
	select {
	case message, ok := <-e.messages:
		if !ok {
			tb.Fatal("the stream has ended")
		}
		return message
	case <-time.After(patience):
		tb.Fatal("no message")
	}
	return ""
}

// waitFor polls until the condition holds.
func waitFor(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	deadline := time.Now().Add(patience)
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for !condition() {
		if time.Now().After(deadline) {
			tb.Fatalf("%s: not within %s", what, patience)
		}
		<-ticker.C
	}
}

func equal[T comparable](tb testing.TB, what string, got, want T) {
	tb.Helper()
	if got != want {
		tb.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}
