//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync/atomic"
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
	var added atomic.Int32
	add("add", func(context.Context, *sdk.CallToolRequest, any) (*sdk.CallToolResult, any, error) {
		add(fmt.Sprint("added", added.Add(1)), func(context.Context, *sdk.CallToolRequest, any) (*sdk.CallToolResult, any, error) {
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

// TestTypeScriptClients is about what the SDKs that most clients are made with see through the relay, in either era:
// cancellation by all three ways, progress, and changes of the list.
func TestTypeScriptClients(t *testing.T) {
	b := newBed(t)
	url, cancelled := slowServer(t)
	b.write(`{"mcpServers": {"slow": {"type": "http", "url": "` + url + `"}}}`)
	b.start()
	b.await("slow", func() bool { return b.server("slow").State == "ready" })
	view := b.url + "/s/slow"

	for _, client := range []string{"v1", "v2", "v2-modern"} {
		t.Run(client, func(t *testing.T) {
			for _, way := range []string{"cancel", "drop", "lose"} {
				best := b.typescript(t, cancelled, view, client, way)
				for range 2 { // a busy machine wakes processes late, whatever they wait for
					if best > cancelLimit {
						best = min(best, b.typescript(t, cancelled, view, client, way))
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
			b.typescriptSays(t, &order, view, client, "progress")
			if !slices.IsSorted(order.Steps) || len(order.Steps) != progressSteps || order.Late > 0 {
				t.Errorf("progress: %d steps, %d of them after the result: %v", len(order.Steps), order.Late, order.Steps)
			}
			var change struct{ Count, More int }
			b.typescriptSays(t, &change, view, client, "changes")
			if change.Count != 1 || change.More != 1 {
				t.Errorf("one new tool: %d times list_changed, %d tools more", change.Count, change.More)
			}
		})
	}
	b.stop()
}

// typescriptSays runs the client and decodes what it prints.
func (b *bed) typescriptSays(t *testing.T, value any, args ...string) {
	t.Helper()
	cmd := b.command(filepath.Join(b.npm, "node_modules", ".bin", "node"), append([]string{"client.cjs"}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	if err := json.Unmarshal(out, value); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// typescript has the client begin a call and end it in one way, and gives how much later the server knew.
func (b *bed) typescript(t *testing.T, cancelled chan time.Time, args ...string) time.Duration {
	t.Helper()
	cmd := b.command(filepath.Join(b.npm, "node_modules", ".bin", "node"), append([]string{"client.cjs"}, args...)...)
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
			t.Errorf("%v: the server never knew", args)
		}
	}
	_ = in.Close()
	_ = cmd.Wait() // the client that gets lost is killed
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return late
}
