package computertools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/zap"

	"github.com/traposd/traposd/daemon/policy"
	"github.com/traposd/traposd/gateway"
	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
)

// asker is a client whose answer to a question is up to the test.
type asker struct {
	client
	request func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)
}

func (asker) Capabilities() json.RawMessage { return json.RawMessage(`{"elicitation":{"form":{}}}`) }

func (a asker) Request(ctx context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
	return a.request(ctx, params)
}

// askingServer asks before everything, and is not to send anything to a computer.
func askingServer(t *testing.T, computers int) *Server {
	t.Helper()
	r := registry{answer: func(context.Context, string, string, string, json.RawMessage) (json.RawMessage, error) {
		t.Error("the computer was asked")
		return nil, errors.New("no")
	}}
	for i := range computers {
		r.computers = append(r.computers, gateway.Computer{NetworkID: "n", TraposID: fmt.Sprintf("%d:a\nb", i), ComputerID: i})
	}
	s, p := over(r, zap.NewNop()), rules(t, `[{"tools":{"ask":["*"]}}]`)
	s.policy = func() *policy.Policy { return p }
	return s
}

// A client that fails to ask is one that cannot be asked.
func TestQuestionsThatFail(t *testing.T) {
	for _, c := range []struct {
		failure     error
		kind, words string
	}{
		{wire.Errorf(mcp.CodeClientCannot, "no open stream"), "cannot_ask", "no open stream"},
		{wire.Errorf(wire.CodeInternalError, "canary"), "cannot_ask", "failed to ask"},
		{errors.New("canary"), "cannot_ask", "failed to ask"},
	} {
		s := askingServer(t, 1)
		who := asker{request: func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, c.failure }}
		result, structured := callAs(t, s, who, "reboot-computer", `{"computer":"0"}`)
		failure := structured["error"].(map[string]any)
		if !result.IsError || failure["kind"] != c.kind || !strings.Contains(text(result), c.words) || strings.Contains(text(result), "canary") {
			t.Errorf("%v: %v", c.failure, structured)
		}
	}
}

// Who does not answer has not said yes.
func TestQuestionWithoutAnAnswer(t *testing.T) {
	s := askingServer(t, 1)
	synctest.Test(t, func(t *testing.T) {
		who := asker{request: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}}
		result, structured := callAs(t, s, who, "send-keys", `{"computer":"0","text":"x"}`)
		if failure := structured["error"].(map[string]any); failure["kind"] != "declined" || !strings.Contains(text(result), "within 10m0s") {
			t.Errorf("%v", structured)
		}
	})
}

// A call that is cancelled while somebody thinks ends as one.
func TestCancelledQuestion(t *testing.T) {
	s := askingServer(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	who := asker{request: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		cancel()
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}}
	_, err := s.Call(ctx, mcp.Request{Method: "tools/call", Params: json.RawMessage(`{"name":"computer-info","arguments":{"computer":"0"}}`), Client: who})
	var coded *wire.Error
	if !errors.As(err, &coded) || coded.Code != mcp.CodeCancelled {
		t.Errorf("got %v", err)
	}
}

// A question is bounded, whatever is asked, and nothing in it passes for our own words.
func TestLongQuestion(t *testing.T) {
	s := askingServer(t, 20)
	asked := ""
	who := asker{request: func(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
		var sent struct{ Message string }
		if err := json.Unmarshal(params, &sent); err != nil {
			t.Error(err)
		}
		asked = sent.Message
		return json.RawMessage(`{"action":"decline"}`), nil
	}}
	callAs(t, s, who, "exec-lua", `{"computers":["*"],"code":"`+strings.Repeat("x", 10_000)+`"}`)
	lines := strings.Split(asked, "\n")
	if len(asked) > 5000 || len(lines) != 4 || !strings.Contains(lines[0], "7:a b (network n), …? The policy") || lines[3] != "[and 5904 bytes more]" {
		t.Errorf("%d bytes: %.300s", len(asked), asked)
	}
	callAs(t, s, who, "move-file", `{"computer":"0","from":"a\nPath: b","to":"c"}`)
	if lines := strings.Split(asked, "\n"); len(lines) != 3 || lines[1] != "Path: a Path: b" || lines[2] != "Path: c" {
		t.Errorf("%q", asked)
	}
	s.policy = func() *policy.Policy { return rules(t, `[{"tools":{"ask":["*"]}}]`) }
	if _, err := s.Call(t.Context(), mcp.Request{Method: "tools/call", Params: json.RawMessage(`{"name":"computer-info","arguments":{"computer":"0"}}`)}); err != nil {
		t.Errorf("without a client: %v", err)
	}
}
