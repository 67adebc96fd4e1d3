package upstream

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
	"github.com/traposd/traposd/mcpconfig"
)

// patience is how long a test waits for something that should happen soon, on a machine that is busy.
const patience = 20 * time.Second

// quick are time limits short enough for tests.
func quick() Times {
	return Times{
		Start: patience, Call: patience, Drain: 5 * time.Second, StdinClose: 300 * time.Millisecond, Terminate: 300 * time.Millisecond,
		BackoffMin: 20 * time.Millisecond, BackoffMax: 200 * time.Millisecond, Healthy: time.Minute, Wait: patience,
		Ping: patience, Discover: 5 * time.Second, Lookup: 50 * time.Millisecond,
	}
}

// bench is a Reconciler under test with all that it reported.
type bench struct {
	t    testing.TB
	r    *Reconciler
	logs *observer.ObservedLogs

	mu      sync.Mutex
	entries []mcp.Entry
	changes int
	notes   []string
	states  []Status
	turn    chan struct{}
}

func start(t testing.TB, adjust ...func(*Options)) *bench {
	t.Helper()
	core, logs := observer.New(zap.DebugLevel)
	b := &bench{t: t, logs: logs, turn: make(chan struct{})}
	options := Options{
		Logger: zap.New(core), Times: quick(),
		Environ: func() []string { // without SHELL: the profile of whoever runs the tests is not ours to run
			return slices.DeleteFunc(ownEnviron(), func(pair string) bool { return isVariable(pair, "SHELL") })
		},
		OnChange: func(entries []mcp.Entry) {
			b.update(func() { b.entries, b.changes = entries, b.changes+1 })
		},
		OnNotification: func(id, method string, params json.RawMessage) {
			b.update(func() { b.notes = append(b.notes, method+" "+string(params)) })
		},
		OnStatus: func(s Status) { b.update(func() { b.states = append(b.states, s) }) },
	}
	for _, f := range adjust {
		f(&options)
	}
	b.r = New(options)
	t.Cleanup(b.close)
	return b
}

func (b *bench) close() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := b.r.Close(ctx); err != nil {
		b.t.Errorf("close: %v", err)
	}
}

func (b *bench) update(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	close(b.turn)
	b.turn = make(chan struct{})
}

// await waits until ok, which is asked at every report of the Reconciler and now and then, is true.
func (b *bench) await(what string, ok func() bool) {
	b.t.Helper()
	if !b.comes(ok) {
		b.t.Fatalf("waited in vain until %s; status %+v", what, b.r.Status())
	}
}

// comes waits like await and reports whether ok became true.
func (b *bench) comes(ok func() bool) bool {
	deadline := time.Now().Add(patience)
	for {
		b.mu.Lock()
		turn := b.turn
		b.mu.Unlock()
		if ok() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		timer := time.NewTimer(10 * time.Millisecond)
		select {
		case <-turn:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (b *bench) entry(name string) (mcp.Entry, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries {
		if e.Name == name {
			return e, true
		}
	}
	return mcp.Entry{}, false
}

// offered waits until a server offers something and returns it.
func (b *bench) offered(name string) mcp.Entry {
	b.t.Helper()
	var e mcp.Entry
	b.await("server "+name+" offers something", func() (ok bool) {
		e, ok = b.entry(name)
		return ok
	})
	return e
}

func (b *bench) status(name string) Status {
	for _, s := range b.r.Status() {
		if s.Name == name {
			return s
		}
	}
	return Status{}
}

// attempts counts the starts of a server so far.
func (b *bench) attempts(name string) int {
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	for _, w := range b.r.order {
		w.mu.Lock()
		named, n := w.want.Name == name, w.attempts
		w.mu.Unlock()
		if named {
			return n
		}
	}
	return 0
}

func (b *bench) awaitState(name string, state State) Status {
	b.t.Helper()
	b.await("server "+name+" is "+string(state), func() bool { return b.status(name).State == state })
	return b.status(name)
}

func (b *bench) call(e mcp.Entry, tool, arguments string) (string, error) {
	return b.callWith(context.Background(), e, tool, arguments, nil, &asker{})
}

func (b *bench) callWith(ctx context.Context, e mcp.Entry, tool, arguments string, progress func(json.RawMessage), client mcp.Client) (string, error) {
	params := json.RawMessage(`{"name":` + string(wire.Quote(tool)) + `,"arguments":` + arguments + `}`)
	result, err := e.Server.Call(ctx, mcp.Request{Method: "tools/call", Params: params, Progress: progress, Client: client})
	return string(result), err
}

// text is the text of a result's first content.
func text(t testing.TB, result string) string {
	t.Helper()
	var r struct{ Content []struct{ Text string } }
	if err := json.Unmarshal([]byte(result), &r); err != nil || len(r.Content) == 0 {
		t.Fatalf("result %s: %v", result, err)
	}
	return r.Content[0].Text
}

func toolNames(e mcp.Entry) []string {
	var names []string
	for _, d := range e.Tools {
		names = append(names, d.Name)
	}
	return names
}

// logged counts the log lines that hold a text.
func (b *bench) logged(text string) int {
	return b.logs.Filter(func(e observer.LoggedEntry) bool { return strings.Contains(e.Message, text) }).Len()
}

// everythingLogged is every message and every field as text.
func (b *bench) everythingLogged() string {
	var out strings.Builder
	for _, e := range b.logs.All() {
		out.WriteString(e.Message)
		for k, v := range e.ContextMap() {
			data, _ := json.Marshal(v)
			out.WriteString(" " + k + "=" + string(data))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// asker is a client that answers every question with its answer, or cannot be asked.
type asker struct {
	answer string

	mu    sync.Mutex
	asked []string
	notes []string
}

func (a *asker) Name() string { return "test/1" }

func (a *asker) Capabilities() json.RawMessage {
	return json.RawMessage(`{"sampling":{},"elicitation":{}}`)
}

func (a *asker) Notify(method string, params json.RawMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.notes = append(a.notes, method+" "+string(params))
}

func (a *asker) Request(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, method+" "+string(params))
	if a.answer == "" {
		return nil, wire.Errorf(mcp.CodeClientCannot, "cannot be asked")
	}
	return json.RawMessage(a.answer), nil
}

// helper is the configuration of a server that the test binary itself is.
func helper(t testing.TB, name, mode string) mcpconfig.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcpconfig.Server{
		Name: name, Transport: mcpconfig.TransportStdio, Command: mcpconfig.NewSecret(self),
		Source: mcpconfig.Source{Path: "/test/.mcp.json", Scope: mcpconfig.ScopeWorkspace, Workspace: t.TempDir()},
		Env: []mcpconfig.EnvVar{
			{Name: "GORACE", Value: mcpconfig.NewSecret("atexit_sleep_ms=0")}, // else a child that is to end at the end of its stdin takes a second
			{Name: helperVariable, Value: mcpconfig.NewSecret(mode)},
		},
	}
}

func remoteServer(name, url string, transport mcpconfig.Transport) mcpconfig.Server {
	return mcpconfig.Server{
		Name: name, Transport: transport, URL: mcpconfig.NewSecret(url),
		Source: mcpconfig.Source{Path: "/test/.mcp.json", Scope: mcpconfig.ScopeWorkspace},
	}
}

// sdkServer is an ordinary server made with the official SDK.
func sdkServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "sdk", Version: "1"}, &sdk.ServerOptions{
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: true}},
		PageSize:     2,
	})
	type arguments struct {
		Text string `json:"text,omitempty"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "greet", Description: "greets"}, func(_ context.Context, _ *sdk.CallToolRequest, in arguments) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "hello " + in.Text}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "grow"}, func(context.Context, *sdk.CallToolRequest, arguments) (*sdk.CallToolResult, any, error) {
		sdk.AddTool(s, &sdk.Tool{Name: "grown"}, func(context.Context, *sdk.CallToolRequest, arguments) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{}, nil, nil
		})
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "ok"}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "count"}, func(ctx context.Context, req *sdk.CallToolRequest, _ arguments) (*sdk.CallToolResult, any, error) {
		for i := range 5 {
			err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(i + 1)})
			if err != nil {
				return nil, nil, err
			}
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "counted"}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "hang"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ arguments) (*sdk.CallToolResult, any, error) {
		hanging <- struct{}{}
		<-ctx.Done()
		hanging <- struct{}{}
		return nil, nil, ctx.Err()
	})
	sdk.AddTool(s, &sdk.Tool{Name: "ask"}, func(ctx context.Context, req *sdk.CallToolRequest, _ arguments) (*sdk.CallToolResult, any, error) {
		answer, err := req.Session.Elicit(ctx, &sdk.ElicitParams{Message: "sure?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}}})
		if err != nil {
			return nil, nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: answer.Action}}}, nil, nil
	})
	s.AddPrompt(&sdk.Prompt{Name: "p"}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{}, nil
	})
	s.AddResource(&sdk.Resource{Name: "r", URI: "test://r"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "test://r", Text: "content"}}}, nil
	})
	return s
}

// hanging gets one word when the SDK server's tool "hang" begins and one when it is cancelled.
var hanging = make(chan struct{}, 2)

func has(list []string, name string) bool { return slices.Contains(list, name) }
