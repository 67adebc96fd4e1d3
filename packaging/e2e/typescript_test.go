//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// cancelLimit is how long a client's change of mind may take to reach the server.
const cancelLimit = 200 * time.Millisecond

const progressSteps = 200

// slowServer has a tool that waits to be cancelled, one with much progress, and one that adds a tool.
func slowServer(t *testing.T) (url string, cancelled chan time.Time) {
	t.Helper()
	cancelled = make(chan time.Time, 1)
	server := sdk.NewServer(&sdk.Implementation{Name: "slow", Version: "1"}, nil)
	progress := func(ctx context.Context, req *sdk.CallToolRequest, step float64) error {
		return req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: step})
	}
	add := func(name string, do sdk.ToolHandlerFor[any, any]) { sdk.AddTool(server, &sdk.Tool{Name: name}, do) }
	add("wait", func(ctx context.Context, req *sdk.CallToolRequest, _ any) (*sdk.CallToolResult, any, error) {
		if err := progress(ctx, req, 1); err != nil {
			return nil, nil, err
		}
		<-ctx.Done()
		cancelled <- time.Now()
		return nil, nil, ctx.Err()
	})
	add("steps", func(ctx context.Context, req *sdk.CallToolRequest, _ any) (*sdk.CallToolResult, any, error) {
		for step := range progressSteps {
			if err := progress(ctx, req, float64(step+1)); err != nil {
				return nil, nil, err
			}
		}
		return &sdk.CallToolResult{}, nil, nil
	})
	add("add", func(context.Context, *sdk.CallToolRequest, any) (*sdk.CallToolResult, any, error) {
		add("added", func(context.Context, *sdk.CallToolRequest, any) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{}, nil, nil
		})
		return &sdk.CallToolResult{}, nil, nil
	})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL, cancelled
}

// TestTypeScriptClient is about what the SDK that most clients are made with sees through the relay: cancellation by all
// three ways, progress, and changes of the list.
func TestTypeScriptClient(t *testing.T) {
	b := newBed(t)
	url, cancelled := slowServer(t)
	b.write(`{"mcpServers": {"slow": {"type": "http", "url": "` + url + `"}}}`)
	b.start()
	b.await("slow", func() bool { return b.server("slow").State == "ready" })
	view := b.url + "/s/slow"

	for _, way := range []string{"cancel", "drop", "lose"} {
		best := b.typescript(t, view, way, cancelled)
		for range 2 { // a busy machine wakes processes late, whatever they wait for
			if best > cancelLimit {
				best = min(best, b.typescript(t, view, way, cancelled))
			}
		}
		t.Logf("%s: the server knew %v later", way, best)
		if best > cancelLimit {
			t.Errorf("%s: the server knew %v later, want at most %v", way, best, cancelLimit)
		}
	}

	var order struct {
		Steps []int
		Late  int
	}
	b.typescriptSays(t, view, "progress", &order)
	if !slices.IsSorted(order.Steps) || len(order.Steps) != progressSteps || order.Late > 0 {
		t.Errorf("progress: %d steps, %d of them after the result: %v", len(order.Steps), order.Late, order.Steps)
	}
	var change struct {
		Count int
		Tools []string
	}
	b.typescriptSays(t, view, "changes", &change)
	if change.Count != 1 || !slices.Contains(change.Tools, "added") {
		t.Errorf("one new tool: %d times list_changed, tools %v", change.Count, change.Tools)
	}
	b.stop()
}

// typescriptSays runs the client and decodes what it prints.
func (b *bed) typescriptSays(t *testing.T, url, what string, value any) {
	t.Helper()
	cmd := b.command(filepath.Join(b.npm, "node_modules", ".bin", "node"), "client.cjs", url, what)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", what, err, out)
	}
	if err := json.Unmarshal(out, value); err != nil {
		t.Fatalf("%s: %v\n%s", what, err, out)
	}
}

// typescript has the client begin a call and end it in one way, and gives how much later the server knew.
func (b *bed) typescript(t *testing.T, url, way string, cancelled chan time.Time) time.Duration {
	t.Helper()
	cmd := b.command(filepath.Join(b.npm, "node_modules", ".bin", "node"), "client.cjs", url, way)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ended struct{ At int64 } // in ms
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ended)
	}
	var late time.Duration
	if err == nil {
		select {
		case at := <-cancelled:
			late = at.Sub(time.UnixMilli(ended.At))
		case <-time.After(limit):
			t.Errorf("%s: the server never knew", way)
		}
	}
	_ = in.Close()
	_ = cmd.Wait() // the client that gets lost is killed
	if err != nil {
		t.Fatalf("%s: %v", way, err)
	}
	return late
}
