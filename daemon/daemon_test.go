package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcpconfig"
)

// running is a service in this process, with folders of its own.
type running struct {
	*Daemon
	t         testing.TB
	workspace string
	password  mcpconfig.Secret
	logs      *observer.ObservedLogs
	end       func() error // stops it and waits
}

// testSettings use free ports and folders that are gone after the test.
func testSettings(t testing.TB) Settings {
	t.Helper()
	root := t.TempDir()
	return Settings{
		Password: mcpconfig.NewSecret("gateway-secret"), GatewayAddr: "127.0.0.1:0", MCPAddr: "127.0.0.1:0",
		Workspaces: []string{root}, ConfigDir: filepath.Join(root, "config"), StateDir: filepath.Join(root, "state"),
		RuntimeDir: filepath.Join(shortDir(t), "run"),
	}
}

// start runs a service until the test ends or end is called.
func start(t testing.TB, settings Settings, config string) *running {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	r := &running{
		Daemon: New(settings, "test", zap.New(core)), t: t,
		workspace: settings.Workspaces[0], password: settings.Password, logs: logs,
	}
	r.write(config)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	var result error
	stopped := false
	r.end = func() error {
		if !stopped {
			stopped = true
			cancel()
			result = <-ended
		}
		return result
	}
	t.Cleanup(func() {
		if err := r.end(); err != nil {
			t.Errorf("the service ended with %v", err)
		}
	})
	select {
	case <-r.Ready():
	case err := <-ended:
		t.Fatalf("the service did not start: %v", err)
	}
	return r
}

// write replaces the workspace's .mcp.json by a rename.
func (r *running) write(config string) {
	r.t.Helper()
	path := filepath.Join(r.workspace, ".mcp.json")
	if err := os.WriteFile(path+"~", []byte(config), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename(path+"~", path); err != nil {
		r.t.Fatal(err)
	}
}

// await polls until there is what is awaited.
func await(t testing.TB, what string, there func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !there() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func (r *running) server(name string) ServerReport {
	for _, s := range r.serversReport().Servers {
		if s.Name == name {
			return s
		}
	}
	return ServerReport{}
}

// awaitReady waits until a server is ready and what it has is offered, which is a moment later.
func (r *running) awaitReady(name string) ServerReport {
	r.t.Helper()
	await(r.t, name+" to be ready", func() bool {
		offered := slices.ContainsFunc(r.catalogue.Entries(), func(e mcp.Entry) bool { return e.Name == name && len(e.Tools) > 0 })
		return offered && r.server(name).State == "ready"
	})
	return r.server(name)
}

// demoEntries is an mcpServers object of demo servers, which this test binary can be.
func demoEntries(t testing.TB, names ...string) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]any{}
	for _, name := range names {
		entries[name] = map[string]any{"command": program, "args": []string{"demo-server", name}}
	}
	data, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// shortDir is a folder whose path leaves room for a socket's name.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (r *running) connect(version string, opts *sdk.ClientOptions) *sdk.ClientSession {
	r.t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, opts)
	session, err := client.Connect(r.t.Context(), &sdk.StreamableClientTransport{Endpoint: r.MCPURL()}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = session.Close() })
	return session
}

// The demo is the main job: it fails by itself if any part of it does.
func TestDemo(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	t.Setenv("XDG_RUNTIME_DIR", shortDir(t))
	if err := Demo(t.Context(), DemoOptions{Out: &out, Version: "test", Program: program, Logger: zap.NewNop()}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if !strings.Contains(out.String(), "words__count") {
		t.Errorf("the tour is incomplete:\n%s", out.String())
	}
}

// An edit reaches a client of either era: a new tool, one list_changed, and the server that stayed keeps its process.
func TestEditReachesClientsOfBothEras(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			r := start(t, testSettings(t), demoEntries(t, "dice"))
			before := r.awaitReady("dice")
			changed := make(chan struct{}, 16)
			session := r.connect(revision, &sdk.ClientOptions{ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} }})
			// A server is offered a moment after it is ready.
			await(t, "dice's tool and no other", func() bool { return toolNames(t, session) == computerTools+" dice__roll" })
			r.write(demoEntries(t, "dice", "words"))
			if revision != "2026-07-28" { // the SDK's client of that revision does not subscribe by itself
				<-changed
			}
			await(t, "words' tool beside it", func() bool { return toolNames(t, session) == computerTools+" dice__roll words__count" })
			result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "words__count", Arguments: map[string]any{"text": "a b c"}})
			if err != nil || result.IsError || result.StructuredContent.(map[string]any)["words"] != 3.0 {
				t.Errorf("words__count: %v %v", result, err)
			}
			if after := r.server("dice"); after.PID != before.PID || after.Restarts != 0 {
				t.Errorf("dice was process %d and is %d", before.PID, after.PID)
			}
		})
	}
}

// computerTools are the tools that need no server, by name.
const computerTools = "computer-info delete-file edit-file exec-lua list-files move-file probe-computers read-file read-screen " +
	"reboot-computer send-event send-keys write-file"

// toolNames are those of the computers, and then those of servers.
func toolNames(t *testing.T, session *sdk.ClientSession) string {
	t.Helper()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var own, others []string
	for _, tool := range list.Tools {
		if strings.Contains(tool.Name, "__") {
			others = append(others, tool.Name)
		} else {
			own = append(own, tool.Name)
		}
	}
	slices.Sort(own)
	slices.Sort(others)
	return strings.Join(append(own, others...), " ")
}

// A computer of the emulator, with the real Lua files, over a real socket, through the tools.
func TestComputerThroughTheTools(t *testing.T) {
	r := start(t, testSettings(t), `{"mcpServers":{}}`)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- RunComputer(ctx, ComputerOptions{ID: 3, Label: "base", URL: r.GatewayURL(), Password: r.password, Network: "home"})
	}()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the computer ended with %v", err)
		}
	}()
	await(t, "the computer", func() bool {
		c := r.computersReport().Computers
		return len(c) == 1 && strings.Contains(strings.Join(c[0].Serves, " "), "write-file")
	})
	session := r.connect("2025-11-25", nil)
	call := func(tool string, arguments map[string]any) map[string]any {
		t.Helper()
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		return result.StructuredContent.(map[string]any)
	}
	probed := call("probe-computers", map[string]any{})["computers"].([]any)[0].(map[string]any)
	if probed["traposId"] != "3:base" || probed["network"] != "home" || probed["state"] != "ready" {
		t.Errorf("probe: %v", probed)
	}
	text := "line one\n\x00\x01 two é\n"
	if got := call("write-file", map[string]any{"computer": "3:base", "path": "d/f", "content": text}); got["ok"] != true || got["bytes"] != float64(len(text)) {
		t.Errorf("write: %v", got)
	}
	got := call("exec-lua", map[string]any{"computer": "3:base", "code": `print("out") local f = fs.open("d/f", "rb") local s = f.readAll() f.close() return #s, s`})
	returns := got["returns"].([]any)
	if got["ok"] != true || got["output"] != "out\n" || returns[0].(map[string]any)["value"] != float64(len(text)) || returns[1].(map[string]any)["value"] != text {
		t.Errorf("exec: %v", got)
	}
	got = call("exec-lua", map[string]any{"computer": "3:base", "code": "print('kept')\nerror('boom')"})
	failure := got["error"].(map[string]any)
	if got["ok"] != false || got["output"] != "kept\n" || failure["kind"] != "runtime" || !strings.Contains(failure["message"].(string), "boom") {
		t.Errorf("exec that fails: %v", got)
	}
}

// Nothing is started before both listeners are bound, and what was bound is let go.
func TestNothingStartsBeforeBothListenersAreBound(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	settings := testSettings(t)
	settings.GatewayAddr = taken.Addr().String()
	marker := filepath.Join(settings.Workspaces[0], "started")
	config := `{"mcpServers":{"a":{"command":"touch","args":["` + filepath.ToSlash(marker) + `"]}}}`
	if err := os.WriteFile(filepath.Join(settings.Workspaces[0], ".mcp.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	err = New(settings, "test", zap.NewNop()).Run(t.Context())
	if !errors.Is(err, ErrAddressInUse) || ExitCode(err) != ExitAddressInUse || !strings.Contains(err.Error(), taken.Addr().String()) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(marker); !errors.Is(err, os.ErrNotExist) {
		t.Error("a child was started")
	}
	// The runtime folder is free again.
	settings.GatewayAddr = Off
	r := start(t, settings, `{"mcpServers":{}}`)
	if r.GatewayURL() != "" {
		t.Error("the gateway is off, and has an address")
	}
}

// The listener is closed to web pages on every route, not on /mcp alone.
func TestForeignOriginIsRefusedEverywhere(t *testing.T) {
	r := start(t, testSettings(t), `{"mcpServers":{}}`)
	for _, path := range []string{"/", "/mcp", "/mcp/", "/nothing", "//mcp", "/mcp/../x", "/mcp/s/", "/metrics", "/mcp/w/x?compact"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.TrimSuffix(r.MCPURL(), "/mcp")+path, strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Origin", "https://evil.example")
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
