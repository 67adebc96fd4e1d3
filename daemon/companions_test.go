package daemon

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap/zapcore"
)

// world is a service with emulated computers, which run the real Lua files, and a client that calls the tools.
type world struct {
	*running
	session *sdk.ClientSession
}

// startWorld waits until every computer serves everything.
func startWorld(t *testing.T, computers ...ComputerOptions) *world {
	t.Helper()
	r := start(t, testSettings(t), `{"mcpServers":{}}`)
	for _, c := range computers {
		c.URL, c.Password = r.GatewayURL(), r.password
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- RunComputer(ctx, c) }()
		t.Cleanup(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("the computer %d ended with %v", c.ID, err)
			}
		})
	}
	await(t, "the computers", func() bool {
		serving := 0
		for _, c := range r.computersReport().Computers {
			if len(c.Serves) == len(strings.Fields(computerTools))-1 { // probe-computers is ours alone
				serving++
			}
		}
		return serving == len(computers)
	})
	return &world{running: r, session: r.connect("2025-11-25", nil)}
}

// call fails the test unless the call made the round trip.
func (w *world) call(tool string, arguments map[string]any) (*sdk.CallToolResult, map[string]any) {
	w.t.Helper()
	result, err := w.session.CallTool(w.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		w.t.Fatalf("%s: %v", tool, err)
	}
	structured, _ := result.StructuredContent.(map[string]any)
	if result.IsError {
		w.t.Fatalf("%s: %v", tool, structured)
	}
	return result, structured
}

// done is call for what must go well.
func (w *world) done(tool string, arguments map[string]any) map[string]any {
	w.t.Helper()
	_, structured := w.call(tool, arguments)
	if structured["ok"] != true {
		w.t.Errorf("%s %v: %v", tool, arguments, structured)
	}
	return structured
}

// refused is call for what must not; it returns the kind.
func (w *world) refused(tool string, arguments map[string]any) any {
	w.t.Helper()
	_, structured := w.call(tool, arguments)
	failure, _ := structured["error"].(map[string]any)
	if structured["ok"] != false {
		w.t.Errorf("%s %v: %v", tool, arguments, structured)
	}
	return failure["kind"]
}

func TestFilesThroughTheTools(t *testing.T) {
	w := startWorld(t, ComputerOptions{ID: 3, Label: "base"})
	at := func(more map[string]any) map[string]any {
		more["computer"] = "3:base"
		return more
	}
	w.done("write-file", at(map[string]any{"path": "d/ä.txt", "content": "one two two é\n"}))
	if got := w.done("read-file", at(map[string]any{"path": "d/ä.txt"})); got["content"] != "one two two é\n" || got["path"] != "d/ä.txt" || got["size"] != 15.0 {
		t.Errorf("read: %v", got)
	}
	if got := w.done("read-file", at(map[string]any{"path": "d/ä.txt", "offset": 4, "length": 3})); got["content"] != "two" || got["truncated"] != true {
		t.Errorf("read a range: %v", got)
	}
	if kind := w.refused("edit-file", at(map[string]any{"path": "d/ä.txt", "old": "two", "new": "2"})); kind != "mismatch" {
		t.Errorf("edit with a wrong count: %v", kind)
	}
	whole := w.done("read-file", at(map[string]any{"path": "d/ä.txt"}))["sha256"]
	if kind := w.refused("write-file", at(map[string]any{"path": "d/ä.txt", "content": "x", "expectedSha256": strings.Repeat("0", 64)})); kind != "mismatch" {
		t.Errorf("write over what was not expected: %v", kind)
	}
	if got := w.done("write-file", at(map[string]any{"path": "d/ä.txt", "content": "one two two é\n", "expectedSha256": whole})); got["sha256"] != whole {
		t.Errorf("write over what was expected: %v", got)
	}
	w.done("edit-file", at(map[string]any{"path": "d/ä.txt", "old": "two", "new": "2%1é", "count": 2}))
	w.done("write-file", at(map[string]any{"path": "d/b.bin", "contentBase64": "AP+A"}))
	if got := w.done("read-file", at(map[string]any{"path": "d/b.bin"})); got["contentBase64"] != "AP+A" || got["content"] != nil {
		t.Errorf("read bytes: %v", got)
	}
	if kind := w.refused("move-file", at(map[string]any{"from": "d/ä.txt", "to": "d/b.bin"})); kind != "exists" {
		t.Errorf("move over a file: %v", kind)
	}
	w.done("move-file", at(map[string]any{"from": "d/ä.txt", "to": "d/e/c.txt"}))
	if got := w.done("read-file", at(map[string]any{"path": "d/e/c.txt"})); got["content"] != "one 2%1é 2%1é é\n" {
		t.Errorf("after edit and move: %v", got)
	}
	got := w.done("list-files", at(map[string]any{"path": "d", "glob": "**/*.txt"}))
	entries := got["entries"].([]any)
	if len(entries) != 1 || entries[0].(map[string]any)["path"] != "d/e/c.txt" || got["free"].(float64) <= 0 || got["capacity"] != 1e6 {
		t.Errorf("list: %v", got)
	}
	large := strings.Repeat("0123456789", 30_000)
	w.done("write-file", at(map[string]any{"path": "large", "content": large}))
	if got := w.done("read-file", at(map[string]any{"path": "large", "length": 1 << 20})); got["content"] != large {
		t.Error("a large file came back differently")
	}
	if kind := w.refused("delete-file", at(map[string]any{"path": "d"})); kind != "is_directory" {
		t.Errorf("delete a full directory: %v", kind)
	}
	w.done("delete-file", at(map[string]any{"path": "d", "recursive": true}))
	if kind := w.refused("read-file", at(map[string]any{"path": "d/b.bin"})); kind != "not_found" {
		t.Errorf("read what was deleted: %v", kind)
	}
}

func TestConsoleThroughTheTools(t *testing.T) {
	w := startWorld(t, ComputerOptions{ID: 3, Label: "base"})
	at := func(more map[string]any) map[string]any {
		more["computer"] = "3"
		return more
	}
	w.done("send-keys", at(map[string]any{"text": "echo Grüße\n"}))
	var picture *sdk.ImageContent
	await(t, "the screen to show what was typed", func() bool {
		result, screen := w.call("read-screen", at(map[string]any{}))
		picture = result.Content[1].(*sdk.ImageContent)
		lines := screen["lines"].([]any)
		for i, line := range lines[:len(lines)-1] {
			if line == "> echo Grüße" && lines[i+1] == "Grüße" {
				return true
			}
		}
		return false
	})
	if img, err := png.Decode(bytes.NewReader(picture.Data)); err != nil || img.Bounds().Dx() != 612 || img.Bounds().Dy() != 342 {
		t.Errorf("the picture: %v", err)
	}
	w.done("exec-lua", at(map[string]any{"session": "s", "code": "seen = 0"}))
	heard := make(chan any, 1)
	go func() {
		result, err := w.session.CallTool(t.Context(), &sdk.CallToolParams{Name: "exec-lua", Arguments: map[string]any{
			"computer": "3", "timeoutMs": 60_000, "code": `return select(2, os.pullEvent("mine"))`,
		}})
		if err != nil {
			heard <- err
			return
		}
		heard <- result.StructuredContent.(map[string]any)["returns"]
	}()
	var got any
	await(t, "the event to be heard", func() bool { // it is lost on a program that does not wait yet
		w.done("send-event", at(map[string]any{"event": "mine", "arguments": []any{7, "x", map[string]any{"a": true}}}))
		select {
		case got = <-heard:
			return true
		default:
			return false
		}
	})
	if said := fmt.Sprint(got); !strings.Contains(said, "value:7") || !strings.Contains(said, "value:x") || !strings.Contains(said, "type:table") {
		t.Errorf("the event came as %s", said)
	}
	if kind := w.refused("send-keys", at(map[string]any{"keys": []string{"nokey"}})); kind != "unknown_key" {
		t.Errorf("an unknown key: %v", kind)
	}
	seen := w.done("exec-lua", at(map[string]any{"session": "s", "code": "return seen"}))
	if v := seen["returns"].([]any)[0].(map[string]any)["value"]; v != 0.0 {
		t.Errorf("the session forgot: %v", seen)
	}
	seen = w.done("exec-lua", at(map[string]any{"code": "return seen"}))
	if v := seen["returns"].([]any)[0].(map[string]any)["type"]; v != "nil" {
		t.Errorf("a global outlived its call without a session: %v", seen)
	}
	info := w.done("computer-info", at(map[string]any{}))["info"].(map[string]any)
	if info["id"] != 3.0 || info["label"] != "base" || info["type"] != "computer" || info["width"] != 51.0 || len(info["peripherals"].([]any)) != 0 {
		t.Errorf("info: %v", info)
	}
	if got := w.done("reboot-computer", at(map[string]any{"waitSeconds": 60})); got["back"] != true {
		t.Errorf("reboot: %v", got)
	}
	seen = w.done("exec-lua", at(map[string]any{"session": "s", "code": "return seen"}))
	if v := seen["returns"].([]any)[0].(map[string]any)["type"]; v != "nil" {
		t.Errorf("the session outlived the reboot: %v", seen)
	}
}

func TestExecOnManyThroughTheTools(t *testing.T) {
	w := startWorld(t, ComputerOptions{ID: 1, Label: "miner-a"}, ComputerOptions{ID: 2, Label: "miner-b"}, ComputerOptions{ID: 3, Label: "base", Network: "home"})
	_, got := w.call("exec-lua", map[string]any{"computers": []string{"miner-*", "3"}, "code": `if os.getComputerID() == 2 then error("no", 0) end print(os.getComputerLabel())`})
	results := got["results"].([]any)
	var said []string
	for _, r := range results {
		r := r.(map[string]any)
		said = append(said, r["computer"].(string)+"="+r["output"].(string))
	}
	if got["ok"] != false || strings.Join(said, " ") != "1:miner-a=miner-a\n 2:miner-b= 3:base=base\n" {
		t.Errorf("%v", got)
	}
	lines := w.logs.FilterMessage("computer tool used").All()
	if len(lines) != 3 {
		t.Fatalf("%d audit lines", len(lines))
	}
	for _, line := range lines {
		fields := line.ContextMap()
		want := map[string]any{"1:miner-a": "ok", "2:miner-b": "runtime", "3:base": "ok"}[fields["computer"].(string)]
		if line.Level != zapcore.InfoLevel || fields["client"] != "test/1" || fields["outcome"] != want || fields["sha256"] == nil || fields["network"] == "" {
			t.Errorf("the audit says %v", fields)
		}
	}
	for _, c := range w.statusReport().Computers {
		if c.LastExecAt == nil || c.LastExecAt.Before(c.ConnectedAt) {
			t.Errorf("%s ran code at %v, and connected at %v", c.TraposID, c.LastExecAt, c.ConnectedAt)
		}
	}
}
