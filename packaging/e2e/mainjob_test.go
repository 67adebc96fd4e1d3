//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const everything = `"everything": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-everything"]}`

// TestMainJob is what traposd is for: a real server from npm through npx, seen by a real client; a second one added by a
// rename-save shows in the same session, and the first one's process stays.
func TestMainJob(t *testing.T) {
	b := newBed(t)
	b.write(`{"mcpServers": {` + everything + `}}`)
	b.start()
	b.await("server-everything", func() bool { return b.server("everything").State == "ready" })
	first := b.server("everything")

	tools := toolNames(t, b.inspect("--method", "tools/list"))
	for _, want := range []string{"probe-computers", "exec-lua", "write-file", "everything__echo", "everything__get-sum"} {
		if !slices.Contains(tools, want) {
			t.Errorf("the inspector does not list %s: %v", want, tools)
		}
	}
	echoed := b.inspect("--method", "tools/call", "--tool-name", "everything__echo", "--tool-arg", "message=through the relay")
	if !strings.Contains(echoed, "through the relay") {
		t.Errorf("echo answered %s", echoed)
	}

	changed := make(chan struct{}, 16)
	session := b.session(&sdk.ClientOptions{ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} }})
	saved := time.Now()
	b.write(`{"mcpServers": {` + everything + `, "memory": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]}}}`)
	var visible time.Time
	for visible.IsZero() {
		select {
		case <-changed:
			list, err := session.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(list.Tools, func(tool *sdk.Tool) bool { return tool.Name == "memory__read_graph" }) {
				visible = time.Now()
			}
		case <-time.After(limit):
			t.Fatal("no list_changed came for the second server")
		}
	}
	second := b.server("memory")
	t.Logf("second server: ready %v after the save, its tools in the same session %v after that",
		second.Since.Sub(saved).Round(time.Millisecond), visible.Sub(second.Since).Round(time.Millisecond))
	if late := visible.Sub(second.Since); late > time.Second {
		t.Errorf("the second server's tools were visible %v after it was ready, want at most 1 s", late)
	}
	if now := b.server("everything"); now.PID != first.PID || now.PID == 0 {
		t.Errorf("the first server was process %d and is %d", first.PID, now.PID)
	}

	family := append(descendants(t, first.PID), descendants(t, second.PID)...)
	if len(family) < 4 {
		t.Errorf("npx and its server should be two processes each, found %v", family)
	}
	b.stop()
	for _, pid := range family {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
			t.Errorf("process %d outlived the service", pid)
		}
	}
}

func toolNames(t *testing.T, list string) []string {
	t.Helper()
	var result struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal([]byte(list), &result); err != nil {
		t.Fatalf("%v in %s", err, list)
	}
	var names []string
	for _, tool := range result.Tools {
		names = append(names, tool.Name)
	}
	return names
}
