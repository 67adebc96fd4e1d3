//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestRealClients has programs that people use connect to one service. Those that only list are also given an address
// where there is no server: what they say of that one must differ.
func TestRealClients(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.write(`{"mcpServers": {"words": {"command": "` + b.program + `", "args": ["demo-server", "words"]}}}`)
	b.start()
	b.await("words", func() bool { return b.server("words").State == "ready" })
	t.Run("with", func(t *testing.T) { // returns when all parallel ones have
		for name, use := range map[string]func(*testing.T, *clientHome){
			"inspector": inspector, "mcporter": mcporter, "mcp-remote": mcpRemote, "claude": claude, "gemini": gemini, "opencode": opencode,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				use(t, newClientHome(t, b))
			})
		}
	})
	b.stop()
}

// clientHome is a person's home with nothing in it but one client's configuration.
type clientHome struct {
	t        *testing.T
	dir, npm string
	env      []string
	url      string // of the service
	nobody   string // of no server
}

func newClientHome(t *testing.T, b *bed) *clientHome {
	t.Helper()
	h := &clientHome{t: t, dir: t.TempDir(), npm: b.npm, url: b.url, nobody: b.url + "/s/nobody"}
	h.env = []string{
		"HOME=" + h.dir, "TMPDIR=" + os.TempDir(), "LANG=C.UTF-8", "NO_COLOR=1", "TERM=dumb",
		"PATH=" + filepath.Join(b.npm, "node_modules", ".bin") + string(os.PathListSeparator) + os.Getenv("PATH"),
		// None of them needs anything but the service.
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1",
		"GEMINI_CLI_TRUST_WORKSPACE=true", // in a folder that nobody has trusted, it connects to nothing
	}
	return h
}

// write writes a configuration file below the home.
func (h *clientHome) write(path string, config any) {
	h.t.Helper()
	path = filepath.Join(h.dir, path)
	data, err := json.Marshal(config)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *clientHome) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(h.npm, "node_modules", name), args...)
	cmd.Env, cmd.Dir = h.env, h.dir
	return cmd
}

// run gives what a program of node_modules prints.
func (h *clientHome) run(name string, args ...string) string {
	h.t.Helper()
	stdout, _ := h.runBoth(name, args...)
	return stdout
}

func (h *clientHome) runBoth(name string, args ...string) (stdout, stderr string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), limit)
	defer cancel()
	cmd := h.command(ctx, name, args...)
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); err != nil {
		h.t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out.String(), errors.String())
	}
	return out.String(), errors.String()
}

// says fails unless the output has lines that match all of the patterns, in any order.
func (h *clientHome) says(output string, patterns ...string) {
	h.t.Helper()
	for _, pattern := range patterns {
		if !regexp.MustCompile(`(?m)` + pattern).MatchString(output) {
			h.t.Errorf("no line matches %s:\n%s", pattern, output)
		}
	}
}

func inspector(t *testing.T, h *clientHome) {
	for _, era := range []string{"legacy", "modern"} {
		ask := func(args ...string) string {
			return h.run(".bin/mcp-inspector", append([]string{"--cli", h.url, "--transport", "http", "--protocol-era", era, "--method"}, args...)...)
		}
		if tools := toolNames(t, ask("tools/list")); !slices.Contains(tools, "words__count") || !slices.Contains(tools, "exec-lua") {
			t.Errorf("%s: tools/list gives %v", era, tools)
		}
		h.says(ask("tools/call", "--tool-name", "words__count", "--tool-arg", "text=one two three"), `"words": 3`)
	}
}

func mcporter(_ *testing.T, h *clientHome) {
	h.write("config/mcporter.json", map[string]any{"mcpServers": map[string]any{
		"traposd": map[string]string{"baseUrl": h.url}, "nobody": map[string]string{"baseUrl": h.nobody},
	}})
	h.says(h.run(".bin/mcporter", "list"), `^- traposd \(\d+ tools`, `^- nobody \(HTTP 404`, `1 healthy`)
	h.says(h.run(".bin/mcporter", "list", "traposd", "--json"), `"name": "words__count"`, `"status": "ok"`)
	h.says(h.run(".bin/mcporter", "call", "traposd.words__count", "text=one two three"), `"words": 3`)
}

// mcpRemote is a bridge for clients that only start processes: here the official SDK.
func mcpRemote(t *testing.T, h *clientHome) {
	var stderr syncBuffer
	cmd := h.command(context.WithoutCancel(t.Context()), ".bin/mcp-remote", h.url)
	cmd.Stderr = &stderr
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("mcp-remote wrote:\n%s", stderr.String())
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	client := sdk.NewClient(&sdk.Implementation{Name: "e2e", Version: "1"}, nil)
	session, err := client.Connect(ctx, &sdk.CommandTransport{Command: cmd}, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }() // it says how the bridge was ended
	if name := session.InitializeResult().ServerInfo.Name; name != "traposd" {
		t.Errorf("connected to %q", name)
	}
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(list.Tools, func(tool *sdk.Tool) bool { return tool.Name == "words__count" }) {
		t.Errorf("tools/list gives %d tools, words__count is not among them", len(list.Tools))
	}
	result, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "words__count", Arguments: map[string]any{"text": "one two three"}})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := json.Marshal(result.StructuredContent)
	if err != nil || string(answer) != `{"words":3}` {
		t.Errorf("words__count answered %s, %v", answer, err)
	}
}

func claude(_ *testing.T, h *clientHome) {
	const program = "@anthropic-ai/claude-code-linux-x64/claude"
	for name, url := range map[string]string{"traposd": h.url, "nobody": h.nobody} {
		h.run(program, "mcp", "add", "--transport", "http", "--scope", "user", name, url)
	}
	h.says(h.run(program, "mcp", "list"), `^traposd: .*Connected$`, `^nobody: .*Failed to connect`)
}

func gemini(_ *testing.T, h *clientHome) {
	h.write(".gemini/settings.json", map[string]any{"mcpServers": map[string]any{
		"traposd": map[string]string{"httpUrl": h.url}, "nobody": map[string]string{"httpUrl": h.nobody},
	}})
	_, list := h.runBoth(".bin/gemini", "mcp", "list")
	h.says(list, `traposd: .* - Connected$`, `nobody: .* - Disconnected$`)
}

func opencode(_ *testing.T, h *clientHome) {
	h.write(".config/opencode/opencode.json", map[string]any{"mcp": map[string]any{
		"traposd": map[string]string{"type": "remote", "url": h.url}, "nobody": map[string]string{"type": "remote", "url": h.nobody},
	}})
	h.says(h.run("opencode-linux-x64-baseline/bin/opencode", "mcp", "list"), `✓ traposd .*connected`, `✗ nobody .*failed`)
}
