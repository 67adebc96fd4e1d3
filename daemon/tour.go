package daemon

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/traposd/traposd/mcp/wire"
	"github.com/traposd/traposd/mcpconfig"
)

// tour is one run of the demo.
type tour struct {
	out       io.Writer
	program   string
	version   string
	daemon    *Daemon
	client    *RPCClient
	password  mcpconfig.Secret
	workspace string
}

func newTour(opts DemoOptions, root string) (*tour, error) {
	t := &tour{
		out: opts.Out, program: opts.Program, version: opts.Version,
		password: mcpconfig.NewSecret(rand.Text()), workspace: filepath.Join(root, "workspace"),
	}
	for _, dir := range []string{t.workspace, filepath.Join(root, "config")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
	}
	t.daemon = New(Settings{
		Password: t.password, GatewayAddr: "127.0.0.1:0", MCPAddr: "127.0.0.1:0",
		Workspaces: []string{t.workspace}, ConfigDir: filepath.Join(root, "config"),
		StateDir: filepath.Join(root, "state"), RuntimeDir: filepath.Join(root, "run"),
	}, opts.Version, opts.Logger)
	return t, t.writeConfig(demoDice)
}

// writeConfig replaces the workspace's .mcp.json as an editor does: a new file, renamed over the old one.
func (t *tour) writeConfig(servers ...string) error {
	entries := map[string]any{}
	for _, name := range servers {
		entries[name] = map[string]any{"command": t.program, "args": []string{"demo-server", name}}
	}
	data, err := json.MarshalIndent(map[string]any{"mcpServers": entries}, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(t.workspace, ".mcp.json")
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func (t *tour) say(format string, args ...any) { _, _ = fmt.Fprintf(t.out, format+"\n", args...) }

// run is the tour itself.
func (t *tour) run(ctx context.Context) error {
	t.client = NewRPCClient(t.daemon.MCPURL(), mcpconfig.Secret{})
	defer func() { _ = t.client.Close(context.WithoutCancel(ctx)) }()
	t.say("traposd %s is up\n  MCP listener      %s\n  computer gateway  %s\n  watching          %s",
		t.version, t.daemon.MCPURL(), t.daemon.GatewayURL(), filepath.Join(t.workspace, ".mcp.json"))
	if err := t.client.Initialize(ctx, "traposd-demo", t.version); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if err := t.await(ctx, "both computers and the server `dice`", t.everythingIsThere); err != nil {
		return err
	}
	tools, err := t.tools(ctx)
	if err != nil {
		return err
	}
	t.say("\ntools/list\n  %s", strings.Join(tools, "\n  "))
	for _, call := range []struct {
		tool      string
		arguments map[string]any
	}{
		{"probe-computers", map[string]any{}},
		{"exec-lua", map[string]any{"computer": "1:miner", "code": `print("hello from " .. os.getComputerLabel()) return 6 * 7`}},
		{"write-file", map[string]any{"computer": "2:farmer", "path": "notes/today.txt", "content": "wheat is ripe\n"}},
		{"exec-lua", map[string]any{"computer": "2:farmer", "code": `local f = fs.open("notes/today.txt", "r") print(f.readAll()) f.close()`}},
		{"dice__roll", map[string]any{"sides": 20}},
	} {
		if err := t.call(ctx, call.tool, call.arguments); err != nil {
			return err
		}
	}
	return t.edit(ctx)
}

// edit adds a server to the file and shows the new tool arrive in the same session.
func (t *tour) edit(ctx context.Context) error {
	before := t.pid(demoDice)
	changed, err := t.listChanged(ctx)
	if err != nil {
		return err
	}
	t.say("\nediting .mcp.json: adding the server `%s`", demoWords)
	saved := time.Now()
	if err := t.writeConfig(demoDice, demoWords); err != nil {
		return err
	}
	if err := <-changed; err != nil {
		return fmt.Errorf("no notifications/tools/list_changed came after the edit: %w", err)
	}
	t.say("  notifications/tools/list_changed after %d ms", time.Since(saved).Milliseconds())
	tools, err := t.tools(ctx)
	if err != nil {
		return err
	}
	t.say("\ntools/list\n  %s", strings.Join(tools, "\n  "))
	if err := t.call(ctx, "words__count", map[string]any{"text": "never think of it again"}); err != nil {
		return err
	}
	if after := t.pid(demoDice); after != before || after == 0 {
		return fmt.Errorf("the server dice was restarted by an edit that did not change it (process %d, then %d)", before, after)
	}
	t.say("\nserver `dice` is still process %d: only what changed was touched", before)
	return nil
}

// listChanged opens the session's stream; the channel gets one value: nil when the next tools/list_changed comes, or why it
// will not, at the latest when ctx ends.
func (t *tour) listChanged(ctx context.Context) (<-chan error, error) {
	opened, changed := make(chan struct{}), make(chan error, 1)
	go func() {
		came := false
		err := t.client.Listen(ctx, func() { close(opened) }, func(m *wire.Message) bool {
			came = m.Method == "notifications/tools/list_changed"
			return !came
		})
		if err == nil && !came {
			err = errors.New("the stream ended")
		}
		changed <- err
	}()
	select {
	case <-opened:
		return changed, nil
	case err := <-changed:
		return nil, fmt.Errorf("the session's stream: %w", err)
	}
}

func (t *tour) pid(name string) int {
	for _, s := range t.daemon.serversReport().Servers {
		if s.Name == name {
			return s.PID
		}
	}
	return 0
}

// awaitInterval is how often what is awaited is looked at.
const awaitInterval = 20 * time.Millisecond

func (t *tour) await(ctx context.Context, what string, there func(context.Context) (bool, error)) error {
	tick := time.NewTicker(awaitInterval)
	defer tick.Stop()
	for {
		switch ok, err := there(ctx); {
		case err != nil:
			return err
		case ok:
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waited %s for %s in vain", demoTimeout, what)
		}
	}
}

func (t *tour) everythingIsThere(ctx context.Context) (bool, error) {
	ready := 0
	for _, c := range t.daemon.computersReport().Computers {
		if len(c.Serves) >= 2 {
			ready++
		}
	}
	tools, err := t.tools(ctx)
	return ready == len(demoComputers) && strings.Contains(strings.Join(tools, " "), demoDice+"__"), err
}

func (t *tour) tools(ctx context.Context) ([]string, error) {
	raw, err := t.client.Call(ctx, "tools/list", struct{}{})
	if err != nil {
		return nil, fmt.Errorf("tools/list: %w", err)
	}
	var list struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	var out []string
	for _, tool := range list.Tools {
		out = append(out, tool.Name)
	}
	return out, nil
}

func (t *tour) call(ctx context.Context, tool string, arguments map[string]any) error {
	raw, err := t.client.Call(ctx, "tools/call", map[string]any{"name": tool, "arguments": arguments})
	if err != nil {
		return fmt.Errorf("%s: %w", tool, err)
	}
	result, err := ParseToolResult(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", tool, err)
	}
	if result.IsError {
		return fmt.Errorf("%s: %s", tool, result.Text)
	}
	shown, err := json.Marshal(arguments)
	if err != nil {
		return err
	}
	t.say("\n%s %s\n  %s", tool, shown, strings.ReplaceAll(result.Text, "\n", "\n  "))
	return nil
}

func (t *tour) explain() {
	url := t.daemon.MCPURL()
	t.say("\nstill running; press Ctrl+C to end. Connect Claude Code with\n  claude mcp add --transport http traposd %s\n"+
		"and edit %s to see it change.", url, filepath.Join(t.workspace, ".mcp.json"))
}
