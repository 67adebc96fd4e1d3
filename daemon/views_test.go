package daemon

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/traposd/traposd/mcpconfig"
)

func TestWorkspaceNames(t *testing.T) {
	got := workspaceNames([]Workspace{{Path: "/a/x"}, {Path: "/b/x"}, {Path: "/x-2"}, {Path: "/c/x"}, {Path: "/y"}})
	if want := []string{"x", "x-2", "x-2-2", "x-3", "y"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func (r *running) toolsAt(path string) []string {
	r.t.Helper()
	client := NewRPCClient(strings.TrimSuffix(r.MCPURL(), "/mcp")+path, mcpconfig.Secret{})
	defer func() { _ = client.Close(context.Background()) }()
	raw, err := client.Call(context.Background(), "tools/list", struct{}{})
	if err != nil {
		return []string{err.Error()}
	}
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(raw, &list); err != nil {
		r.t.Fatal(err)
	}
	names := []string{}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// /mcp shows the merge, a workspace's view its own, a server's view that server under its own names.
func TestViews(t *testing.T) {
	settings := testSettings(t)
	second := t.TempDir()
	settings.Workspaces = append(settings.Workspaces, second)
	file := filepath.Join(second, ".mcp.json")
	// The second workspace's dice is a server of its own, which counts words.
	other := strings.Replace(demoEntries(t, "words"), `"words":{`, `"dice":{`, 1)
	if err := os.WriteFile(file, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, settings, demoEntries(t, "dice"))
	computers := strings.Fields(computerTools)
	with := func(names ...string) []string { return slices.Sorted(slices.Values(append(names, computers...))) }
	first := "/mcp/w/" + filepath.Base(settings.Workspaces[0])
	secondPath := "/mcp/w/" + filepath.Base(second)
	if filepath.Base(second) == filepath.Base(settings.Workspaces[0]) {
		secondPath += "-2"
	}
	for path, want := range map[string][]string{
		"/mcp": with("dice__roll"), first: with("dice__roll"), secondPath: with("dice__count"), "/mcp/s/dice": {"roll"},
	} {
		await(t, path+" to show what it should", func() bool { return slices.Equal(r.toolsAt(path), want) })
	}
	if got := r.toolsAt("/mcp/s/nobody"); len(got) != 1 || !strings.Contains(got[0], "no such view") {
		t.Errorf("an unknown server's view: %q", got)
	}

	// A session of a view sees its edits, and ends with its server.
	changed := make(chan struct{}, 16)
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"},
		&sdk.ClientOptions{ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} }})
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: strings.TrimSuffix(r.MCPURL(), "/mcp") + "/mcp/s/dice"},
		&sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	r.write(`{"mcpServers":{}}`) // now the second workspace's dice is what /mcp shows
	await(t, "the other dice", func() bool { return slices.Equal(r.toolsAt("/mcp/s/dice"), []string{"count"}) })
	<-changed
	if err := os.WriteFile(file, []byte(`{"mcpServers":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, "the view to end", func() bool { return strings.Contains(r.toolsAt("/mcp/s/dice")[0]+" ", "no such view") })
}

// call calls a tool at /mcp and gives its raw result.
func (r *running) call(tool, arguments string) (string, error) {
	r.t.Helper()
	client := NewRPCClient(r.MCPURL(), mcpconfig.Secret{})
	defer func() { _ = client.Close(context.Background()) }()
	raw, err := client.Call(context.Background(), "tools/call", map[string]any{"name": tool, "arguments": json.RawMessage(arguments)})
	return string(raw), err
}
