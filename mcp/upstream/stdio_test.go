package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
	"github.com/traposd/traposd/mcpconfig"
)

func TestStdioOfSDK(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.r.Reconcile([]mcpconfig.Server{helper(t, "s", "sdk")})
	e := b.offered("s")
	if got := toolNames(e); len(got) != 5 {
		t.Fatalf("tools %v: not all pages were read", got)
	}
	if len(e.Prompts) != 1 || len(e.Resources) != 1 || e.Resources[0].Name != "test://r" {
		t.Errorf("prompts %v, resources %v", e.Prompts, e.Resources)
	}
	result, err := b.call(e, "greet", `{"text":"you"}`)
	if err != nil || text(t, result) != "hello you" {
		t.Errorf("result %s, error %v", result, err)
	}
	if _, err := b.call(e, "grow", `{}`); err != nil {
		t.Fatal(err)
	}
	b.await("the new tool is offered", func() bool {
		e, _ := b.entry("s")
		return has(toolNames(e), "grown")
	})
}

func TestCallsAreRelayedAsTheyAre(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.r.Reconcile([]mcpconfig.Server{helper(t, "s", "ok")})
	e := b.offered("s")
	if raw := string(e.Tools[0].Raw); raw != `{"name":"echo","description":"d","inputSchema":{"type":"object","x":9007199254740993},"future":1.0}` {
		t.Errorf("the definition came as %s", raw)
	}
	result, err := b.call(e, "echo", `{"n":9007199254740993,"f":1.0,"u":"é\u0000"}`)
	want := `{"content":[{"type":"future","n":9007199254740993,"f":1.0}],"structuredContent":{"n":9007199254740993,"f":1.0,"u":"é\u0000"},"unknown":{"a":[1.50]}}`
	if err != nil || result != want {
		t.Errorf("got %s, %v", result, err)
	}
	_, err = b.call(e, "nothing", `{}`)
	var rpc *wire.Error
	if !errors.As(err, &rpc) || rpc.Code != -32602 || string(rpc.Data) != `{"n":1.0}` {
		t.Errorf("the server's own error came as %#v", err)
	}
}

// TestIDsOfEveryType: what a server asks under any id is answered under the very same, byte for byte, while one of ours is
// in flight that may be the same number.
func TestIDsOfEveryType(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.r.Reconcile([]mcpconfig.Server{helper(t, "s", "ok")})
	e := b.offered("s")
	client := &asker{answer: `{"roots":[]}`}
	ids := []string{
		`"text"`, `""`, `"7"`, `"\u00e9\u0000"`, `"é 🙂"`, `"` + strings.Repeat("x", 5000) + `"`,
		`0`, `1`, `2`, `3`, `4`, `5`, `-7`, `9007199254740993`, `-9007199254740993`, `123456789012345678901234567890`, `1.5`, `1.0`, `1e3`, `-0`,
	}
	for _, id := range ids {
		for _, method := range []string{"ping", "roots/list", "sampling/createMessage", "unknown/method"} {
			result, err := b.callWith(context.Background(), e, "ask", `{"id":`+id+`,"method":"`+method+`"}`, nil, client)
			if err != nil || text(t, result) != id {
				t.Errorf("%s under the id %s: result %s, error %v", method, clip(id, 40), result, err)
			}
		}
	}
	if n := len(client.asked); n != 2*len(ids) {
		t.Errorf("the client was asked %d times", n)
	}
}

func TestProgressComesInOrderBeforeTheResult(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"ok", "string-ids", "float-ids"} {
		t.Run(mode, func(t *testing.T) {
			b := start(t)
			b.r.Reconcile([]mcpconfig.Server{helper(t, "s", mode)})
			e := b.offered("s")
			var got []string
			_, err := b.callWith(context.Background(), e, "progress", `{"n":100}`, func(p json.RawMessage) {
				value, _ := wire.Get(p, "progress")
				got = append(got, string(value))
			}, &asker{})
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 100 || got[0] != "1" || got[99] != "100" {
				t.Errorf("progress %v", got)
			}
		})
	}
}

func TestCancellationReachesTheServer(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.r.Reconcile([]mcpconfig.Server{helper(t, "s", "ok")})
	e := b.offered("s")
	file := t.TempDir() + "/cancelled"
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := b.callWith(ctx, e, "slow", `{"ms":60000,"file":"`+file+`"}`, nil, &asker{})
		done <- err
	}()
	if _, err := b.call(e, "pid", `{}`); err != nil { // calls overlap
		t.Fatal(err)
	}
	gone := errors.New("the client hung up")
	cancel(gone)
	if err := <-done; !errors.Is(err, gone) {
		t.Errorf("error %v", err)
	}
	b.await("the server was told", func() bool { return fileText(file) == "cancelled" })
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	b := start(t)
	server := helper(t, "s", "ok")
	server.Timeout = 50 * 1e6
	b.r.Reconcile([]mcpconfig.Server{server})
	e := b.offered("s")
	file := t.TempDir() + "/cancelled"
	_, err := b.call(e, "slow", `{"ms":60000,"file":"`+file+`"}`)
	var rpc *wire.Error
	if !errors.As(err, &rpc) || rpc.Code != mcp.CodeTimeout || !strings.Contains(rpc.Message, `"s"`) || !strings.Contains(rpc.Message, "50ms") {
		t.Errorf("error %v", err)
	}
	b.await("the server was told", func() bool { return fileText(file) == "cancelled" })
	if _, err := b.call(e, "pid", `{}`); err != nil {
		t.Errorf("the next call failed: %v", err)
	}
}

func TestServerAsksTheClientBehindTheCall(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.r.Reconcile([]mcpconfig.Server{helper(t, "s", "ask-roots")})
	e := b.offered("s")
	client := &asker{answer: `{"model":"m","n":1.0}`}
	result, err := b.callWith(context.Background(), e, "sample", `{}`, nil, client)
	if err != nil || text(t, result) != client.answer {
		t.Errorf("result %s, error %v", result, err)
	}
	result, err = b.call(e, "sample", `{}`)
	if err != nil || !strings.Contains(text(t, result), "-31015") {
		t.Errorf("a client that cannot be asked: result %s, error %v", result, err)
	}
}
