package computertools

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"

	"github.com/traposd/traposd/daemon/policy"
	"github.com/traposd/traposd/gateway"
	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
)

// registry answers as a gateway would; answer says how.
type registry struct {
	computers []gateway.Computer
	answer    func(ctx context.Context, network, computer, kind string, payload json.RawMessage) (json.RawMessage, error)
}

func (r registry) Computers() []gateway.Computer { return r.computers }

func (r registry) Lookup(network, computer string) (gateway.Computer, error) {
	for _, c := range r.computers {
		if (network == "" || network == c.NetworkID) && (computer == c.TraposID || computer == strconv.Itoa(c.ComputerID)) {
			return c, nil
		}
	}
	if r.computers == nil { // this one takes any
		return gateway.Computer{NetworkID: network, TraposID: computer}, nil
	}
	return gateway.Computer{}, &gateway.Error{Code: gateway.CodeUnknownComputer, Message: "no computer " + computer}
}

func (r registry) Request(ctx context.Context, network, computer, kind string, payload json.RawMessage) (json.RawMessage, error) {
	return r.answer(ctx, network, computer, kind, payload)
}

// client is who asks. answer is what the person there does when asked; empty: there is no way to ask.
type client struct {
	mcp.Client
	answer string
	asked  *[]string // the messages
}

func (client) Name() string    { return "tester/1" }
func (client) Session() string { return "s1" }

func (c client) Capabilities() json.RawMessage {
	if c.answer == "" {
		return nil
	}
	return json.RawMessage(`{"elicitation":{}}`)
}

func (c client) Request(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	var sent struct {
		Message         string
		RequestedSchema json.RawMessage
	}
	if err := json.Unmarshal(params, &sent); err != nil || method != "elicitation/create" || string(sent.RequestedSchema) != `{"properties":{},"type":"object"}` {
		return nil, fmt.Errorf("%s %s", method, params)
	}
	*c.asked = append(*c.asked, sent.Message)
	return json.RawMessage(`{"action":"` + c.answer + `"}`), nil
}

func call(t *testing.T, r Registry, tool, arguments string) (*sdk.CallToolResult, map[string]any) {
	t.Helper()
	return callWith(t, over(r, zap.NewNop()), tool, arguments)
}

var shared = sync.OnceValue(func() *Server { return New(nil, Options{}) })

// over is the tools over a registry. They are made once, since that takes a while: the tests run one after another.
func over(r Registry, log *zap.Logger) *Server {
	s := shared()
	s.registry, s.log, s.policy = r, log, func() *policy.Policy { return &policy.Policy{} }
	return s
}

func callWith(t *testing.T, s *Server, tool, arguments string) (*sdk.CallToolResult, map[string]any) {
	t.Helper()
	return callAs(t, s, client{}, tool, arguments)
}

func callAs(t *testing.T, s *Server, who mcp.Client, tool, arguments string) (*sdk.CallToolResult, map[string]any) {
	t.Helper()
	params := `{"name":` + string(wire.Quote(tool)) + `,"arguments":` + arguments + `}`
	raw, err := s.Call(t.Context(), mcp.Request{Method: "tools/call", Params: json.RawMessage(params), Client: who})
	if err != nil {
		t.Fatal(err)
	}
	var result sdk.CallToolResult
	if err := json.Unmarshal(raw, &result); err != nil {
		t.Fatal(err)
	}
	structured, _ := result.StructuredContent.(map[string]any)
	checkSchema(t, s.tools[tool], structured)
	return &result, structured
}

// checkSchema holds every answer, refusals included, against the tool's own output schema, as clients do.
func checkSchema(t *testing.T, tool tool, structured map[string]any) {
	t.Helper()
	schema, err := tool.definition.OutputSchema.(*jsonschema.Schema).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(structured); err != nil {
		t.Errorf("%s: the structured content breaks the output schema: %v", tool.definition.Name, err)
	}
}

func text(r *sdk.CallToolResult) string { return r.Content[0].(*sdk.TextContent).Text }

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestExecLua(t *testing.T) {
	var gotKind, gotComputer, gotNetwork string
	var got map[string]any
	r := registry{answer: func(_ context.Context, network, computer, kind string, payload json.RawMessage) (json.RawMessage, error) {
		gotKind, gotComputer, gotNetwork = kind, computer, network
		if err := json.Unmarshal(payload, &got); err != nil {
			return nil, err
		}
		return json.RawMessage(`{"ok":true,"outputBase64":"` + b64("hi\nthere\n") + `","returns":[
			{"type":"number","value":42},{"type":"string","valueBase64":"` + b64("x\xff") + `"},{"type":"nil"},{"type":"boolean","value":false}]}`), nil
	}}
	result, s := call(t, r, "exec-lua", `{"computer":"1:a:b","network":"n","code":"print('é')","timeoutMs":1234}`)
	if gotKind != "exec-lua" || gotComputer != "1:a:b" || gotNetwork != "n" {
		t.Errorf("asked %s of %s in %s", gotKind, gotComputer, gotNetwork)
	}
	if got["sourceBase64"] != b64("print('é')") || got["timeoutMs"] != 1234.0 {
		t.Errorf("payload %v", got)
	}
	if result.IsError || s["ok"] != true || s["output"] != "hi\nthere\n" {
		t.Errorf("result %v %v", result.IsError, s)
	}
	returns := s["returns"].([]any)
	if v := returns[1].(map[string]any)["value"]; v != "xÿ" {
		t.Errorf("bytes that are not UTF-8 came as %q", v)
	}
	if want := "hi\nthere\n[return 1] 42\n[return 2] xÿ\n[return 3] nil\n[return 4] false"; text(result) != want {
		t.Errorf("text %q, want %q", text(result), want)
	}
}

// A Lua error made the round trip: it is a successful result that keeps the output (the seed's rule).
func TestLuaErrorIsASuccessfulRoundTrip(t *testing.T) {
	r := registry{answer: func(context.Context, string, string, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"ok":false,"kind":"runtime","line":3,"errorBase64":"` + b64("boom") + `","outputBase64":"` + b64("before") + `","tracebackBase64":"` + b64("at 3") + `"}`), nil
	}}
	result, s := call(t, r, "exec-lua", `{"computer":"1:","code":"error('boom')"}`)
	failure := s["error"].(map[string]any)
	if result.IsError || s["ok"] != false || s["output"] != "before" || failure["kind"] != "runtime" || failure["line"] != 3.0 {
		t.Errorf("%v %v", result.IsError, s)
	}
	if want := "before\n[runtime] boom\nat 3"; text(result) != want {
		t.Errorf("text %q", text(result))
	}
}

func TestFailuresOnTheWay(t *testing.T) {
	for _, code := range []gateway.Code{gateway.CodeDisconnected, gateway.CodeTimeout, gateway.CodeUnknownComputer, gateway.CodeUnknownType, gateway.CodeBusy, gateway.CodeTooLarge} {
		r := registry{answer: func(context.Context, string, string, string, json.RawMessage) (json.RawMessage, error) {
			return nil, &gateway.Error{Code: code, Message: "why and what to do"}
		}}
		for tool, arguments := range map[string]string{
			"exec-lua":      `{"computer":"1:","code":""}`,
			"write-file":    `{"computer":"1:","path":"a","content":""}`,
			"read-file":     `{"computer":"1:","path":"a"}`,
			"list-files":    `{"computer":"1:"}`,
			"delete-file":   `{"computer":"1:","path":"a"}`,
			"move-file":     `{"computer":"1:","from":"a","to":"b"}`,
			"edit-file":     `{"computer":"1:","path":"a","old":"x","new":"y"}`,
			"read-screen":   `{"computer":"1:"}`,
			"send-keys":     `{"computer":"1:","text":"x"}`,
			"send-event":    `{"computer":"1:","event":"x"}`,
			"computer-info": `{"computer":"1:"}`,
			// It has looked for the computer before.
			"reboot-computer": `{"computer":"1:"}`,
		} {
			r.computers = []gateway.Computer{{NetworkID: "n", TraposID: "1:", ComputerID: 1}}
			result, s := call(t, r, tool, arguments)
			failure := s["error"].(map[string]any)
			if !result.IsError || s["ok"] != false || failure["kind"] != string(code) || failure["message"] != "why and what to do" {
				t.Errorf("%s, %s: %v %v", tool, code, result.IsError, s)
			}
		}
	}
}

func TestBadArguments(t *testing.T) {
	r := registry{answer: func(context.Context, string, string, string, json.RawMessage) (json.RawMessage, error) {
		t.Error("the computer was asked")
		return nil, errors.New("no")
	}}
	for _, c := range []struct{ tool, arguments, words string }{
		{"exec-lua", `{"computer":"1:"}`, "code"},
		{"exec-lua", `{"computer":true,"code":"x"}`, "computer"},
		{"exec-lua", `{"computer":"1:","code":"x","CODE":"y"}`, "CODE"},
		{"exec-lua", `{"computer":"1:","code":"x","timeoutMs":300001}`, "timeoutMs"},
		{"exec-lua", `{"computer":"1:","code":"x","timeoutMs":-1}`, "timeoutMs"},
		{"exec-lua", `[]`, "object"},
		{"write-file", `{"computer":"1:","path":"a"}`, "contentBase64"},
		{"write-file", `{"computer":"1:","path":"a","content":"x","contentBase64":"eA=="}`, "not both"},
		{"write-file", `{"computer":"1:","path":"a","contentBase64":"%"}`, "base64"},
		{"write-file", `{"computer":"1:","path":"a","content":"x","mode":"truncate"}`, "mode"},
		{"write-file", `{"computer":"1:","path":"a","content":"x","expectedSha256":"abc"}`, "64 hexadecimal"},
		{"write-file", `{"computer":"1:","path":"a","content":"x","expectedSha256":"` + strings.Repeat("x", 64) + `"}`, "64 hexadecimal"},
		{"probe-computers", `{"network":7}`, "network"},
		{"exec-lua", `{"code":"x"}`, "computers"},
		{"exec-lua", `{"computer":"1:","computers":["*"],"code":"x"}`, "not both"},
		{"exec-lua", `{"computers":[""],"code":"x","session":"` + strings.Repeat("s", 65) + `"}`, "session"},
		{"exec-lua", `{"computers":["*` + strings.Repeat("s", 300) + `"],"code":"x"}`, "pattern"},
		{"read-file", `{"computer":"1:","path":"a","offset":-1}`, "offset"},
		{"read-file", `{"computer":"1:","path":"a","length":1048577}`, "length"},
		{"read-file", `{"computer":"1:","path":"a","encoding":"utf-8"}`, "encoding"},
		{"list-files", `{"computer":"1:","limit":2001}`, "limit"},
		{"list-files", `{"computer":"1:","glob":"` + strings.Repeat("s", 300) + `"}`, "pattern"},
		{"edit-file", `{"computer":"1:","path":"a","old":"","new":"x"}`, "old"},
		{"edit-file", `{"computer":"1:","path":"a","old":"x","new":"x","count":-1}`, "count"},
		{"send-keys", `{"computer":"1:"}`, "text"},
		{"send-keys", `{"computer":"1:","text":"€"}`, "keyboard"},
		{"send-keys", `{"computer":"1:","text":"\u001b[A"}`, "keyboard"},
		{"send-keys", `{"computer":"1:","text":"` + strings.Repeat("x", 4097) + `"}`, "4096"},
		{"send-event", `{"computer":"1:","event":"x","arguments":[1,null]}`, "null"},
		{"reboot-computer", `{"computer":"1:","waitSeconds":121}`, "waitSeconds"},
	} {
		result, s := call(t, r, c.tool, c.arguments)
		failure, _ := s["error"].(map[string]any)
		if !result.IsError || failure["kind"] != "bad_request" || !strings.Contains(text(result), c.words) {
			t.Errorf("%s %s: %q", c.tool, c.arguments, text(result))
		}
	}
}

func TestWriteFile(t *testing.T) {
	var got map[string]any
	r := registry{answer: func(_ context.Context, _, _, _ string, payload json.RawMessage) (json.RawMessage, error) {
		if err := json.Unmarshal(payload, &got); err != nil {
			return nil, err
		}
		if got["path"] == "rom/x" {
			return json.RawMessage(`{"ok":false,"kind":"read_only","errorBase64":"` + b64("rom is read-only") + `"}`), nil
		}
		return json.RawMessage(`{"ok":true,"path":"a/b","bytes":3,"existed":true}`), nil
	}}
	result, s := call(t, r, "write-file", `{"computer":"1:","path":"/a/b","contentBase64":"AP8K","mode":"append"}`)
	if got["dataBase64"] != "AP8K" || got["mode"] != "append" || got["path"] != "/a/b" {
		t.Errorf("payload %v", got)
	}
	if s["ok"] != true || s["bytes"] != 3.0 || text(result) != "a/b written, 3 bytes" {
		t.Errorf("%v %q", s, text(result))
	}
	result, s = call(t, r, "write-file", `{"computer":"1:","path":"rom/x","content":""}`)
	if got["mode"] != "write" || got["dataBase64"] != "" {
		t.Errorf("payload %v", got)
	}
	if result.IsError || s["ok"] != false || text(result) != "[read_only] rom is read-only" {
		t.Errorf("%v %q", s, text(result))
	}
}

func TestProbe(t *testing.T) {
	r := registry{
		computers: []gateway.Computer{
			{NetworkID: "n", TraposID: "1:a", ComputerID: 1, Label: "a", Serves: []string{"exec-lua"}, State: gateway.StateReady, ConnectedAt: time.Now()},
			{NetworkID: "n", TraposID: "2:", ComputerID: 2, State: gateway.StateReady},
			{NetworkID: "n", TraposID: "3:gone", ComputerID: 3, State: gateway.StateReady},
			{NetworkID: "other", TraposID: "1:a", ComputerID: 1, State: gateway.StateReady},
		},
		answer: func(_ context.Context, network, computer, kind string, _ json.RawMessage) (json.RawMessage, error) {
			if kind != "ping" || network == "other" {
				t.Errorf("asked %s of %s", kind, network)
			}
			switch computer {
			case "2:":
				return nil, &gateway.Error{Code: gateway.CodeTimeout, Message: "late"}
			case "3:gone":
				return nil, &gateway.Error{Code: gateway.CodeDisconnected, Message: "left"}
			}
			return json.RawMessage(`{}`), nil
		},
	}
	result, s := call(t, r, "probe-computers", `{"network":"n"}`)
	computers := s["computers"].([]any)
	if len(computers) != 2 {
		t.Fatalf("%v", s)
	}
	first, second := computers[0].(map[string]any), computers[1].(map[string]any)
	if first["traposId"] != "1:a" || first["state"] != "ready" || first["latencyMs"] == nil {
		t.Errorf("%v", first)
	}
	if second["traposId"] != "2:" || second["state"] != "unresponsive" || second["latencyMs"] != nil {
		t.Errorf("%v", second)
	}
	if !strings.HasPrefix(text(result), "2 connected:\n1:a (network n): ready, ") {
		t.Errorf("%q", text(result))
	}
	if result, _ := call(t, registry{}, "probe-computers", `{}`); text(result) != "No computer is connected." {
		t.Errorf("%q", text(result))
	}
}

func TestCancellationIsNoResult(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := registry{answer: func(ctx context.Context, _, _, _ string, _ json.RawMessage) (json.RawMessage, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	_, err := New(r, Options{}).Call(ctx, mcp.Request{Method: "tools/call", Params: json.RawMessage(`{"name":"exec-lua","arguments":{"computer":"1:","code":""}}`)})
	var coded *wire.Error
	if !errors.As(err, &coded) || coded.Code != mcp.CodeCancelled {
		t.Errorf("got %v", err)
	}
}

func TestUnknownToolAndMethod(t *testing.T) {
	s := New(registry{}, Options{})
	for _, req := range []mcp.Request{
		{Method: "tools/call", Params: json.RawMessage(`{"name":"nope"}`)},
		{Method: "prompts/get", Params: json.RawMessage(`{"name":"exec-lua"}`)},
	} {
		var coded *wire.Error
		if _, err := s.Call(t.Context(), req); !errors.As(err, &coded) {
			t.Errorf("%s: %v", req.Method, err)
		}
	}
}

func TestDefinitions(t *testing.T) {
	e := New(registry{}, Options{}).Entry()
	names := make([]string, len(e.Tools))
	for i, d := range e.Tools {
		names[i] = d.Name
	}
	slices.Sort(names)
	if e.Name != "" || e.ID != ID || !slices.Equal(names, Names()) {
		t.Fatalf("%+v", e)
	}
	for _, d := range e.Tools {
		var tool sdk.Tool
		if err := json.Unmarshal(d.Raw, &tool); err != nil {
			t.Fatal(err)
		}
		if tool.Name != d.Name || tool.Description == "" || tool.InputSchema == nil || tool.OutputSchema == nil || tool.Annotations == nil {
			t.Errorf("%s: incomplete definition %s", d.Name, d.Raw)
		}
	}
}

// A model writes a computer's number as a number, and means the computer.
func TestComputerByNumber(t *testing.T) {
	asked := ""
	r := registry{answer: func(_ context.Context, _, computer, _ string, _ json.RawMessage) (json.RawMessage, error) {
		asked = computer
		return json.RawMessage(`{"ok":true}`), nil
	}}
	if result, _ := call(t, r, "exec-lua", `{"computer": 12 ,"code":"x"}`); result.IsError || asked != "12" {
		t.Errorf("asked %q: %s", asked, text(result))
	}
}
