//go:build e2e

package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// realServer is one server of npm as an entry of .mcp.json, and a call that only it can answer.
type realServer struct {
	name  string
	entry map[string]any
	tool  string
	args  map[string]any
	want  string     // part of the answer
	web   *webServer // nil: the service starts it
}

// realServers are the reference servers in all the ways that there are to reach them.
func realServers(b *bed) []realServer {
	sse, streamable := b.newWebServer("sse"), b.newWebServer("streamableHttp")
	echo := func(name string, web *webServer, entry map[string]any) realServer {
		return realServer{name: name, entry: entry, tool: "echo", args: map[string]any{"message": "by " + name}, want: "by " + name, web: web}
	}
	list := []realServer{
		echo("everything", nil, map[string]any{"command": "mcp-server-everything", "args": []string{"stdio"}}),
		echo("sse", sse, map[string]any{"type": "sse", "url": sse.url("/sse")}),
		echo("http", streamable, map[string]any{"type": "http", "url": streamable.url("/mcp")}),
		echo("bare-sse", sse, map[string]any{"url": sse.url("/sse")}),
		echo("bare-http", streamable, map[string]any{"url": streamable.url("/mcp")}),
		// With a second command, bash stays and waits for npx, which has the server below a shell of its own. In that folder
		// npx finds the installed package, and asks no registry.
		echo("wrapper", nil, map[string]any{"command": "bash", "args": []string{"-c", "npx --offline --no mcp-server-everything stdio; exit 0"}, "cwd": b.npm}),
		{
			name:  "filesystem",
			entry: map[string]any{"command": "mcp-server-filesystem", "args": []string{b.workspace}},
			tool:  "list_directory", args: map[string]any{"path": b.workspace}, want: ".mcp.json",
		},
		{name: "memory", entry: map[string]any{"command": "mcp-server-memory"}, tool: "read_graph", args: map[string]any{}, want: "remembered"},
	}
	memory := filepath.Join(b.dir, "memory.jsonl")
	if err := os.WriteFile(memory, []byte(`{"type": "entity", "name": "remembered", "entityType": "thing", "observations": []}`), 0o600); err != nil {
		b.t.Fatal(err)
	}
	for _, s := range list {
		if s.web == nil {
			s.entry["env"] = map[string]string{markVariable: b.mark(s.name), "MEMORY_FILE_PATH": memory}
		}
	}
	return list
}

// configure writes entries for these servers.
func (b *bed) configure(servers []realServer) {
	b.t.Helper()
	entries := map[string]any{}
	for _, s := range servers {
		entries[s.name] = s.entry
	}
	config, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		b.t.Fatal(err)
	}
	b.write(string(config))
}

// answers calls the server's tool.
func (s realServer) answers(t *testing.T, session *sdk.ClientSession) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: s.name + "__" + s.tool, Arguments: s.args})
	if err != nil {
		t.Errorf("%s: %v", s.name, err)
		return
	}
	answer, err := json.Marshal(result)
	if err != nil || result.IsError || !strings.Contains(string(answer), s.want) {
		t.Errorf("%s answered %s, %v; want %s", s.name, answer, err, s.want)
	}
}

// TestRealServers has the reference servers of npm in all their transports, and one below a shell and npx, behind one
// service: each can be called, comes back when it is killed or restarted, and leaves nothing when it is taken out.
func TestRealServers(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	servers := realServers(b)
	b.configure(servers)
	b.start()
	t.Cleanup(b.endMarked)
	for _, s := range servers {
		b.await(s.name, func() bool { return b.server(s.name).State == "ready" })
	}
	session := b.session(nil)
	listed := b.listed(session)
	for _, s := range servers {
		if !listed[s.name+"__"+s.tool] {
			t.Errorf("%s__%s is not listed", s.name, s.tool)
		}
		s.answers(t, session)
	}
	for _, s := range servers {
		if s.web == nil {
			b.killed(s, session)
		}
	}
	b.restarted(servers, session)
	b.removed(servers, session)
	b.stop()
	if left := marked(t, b.mark("")); len(left) > 0 {
		t.Errorf("these outlived the service: %v", left)
	}
}

func (b *bed) listed(session *sdk.ClientSession) map[string]bool {
	b.t.Helper()
	names := map[string]bool{}
	for tool, err := range session.Tools(b.t.Context(), nil) {
		if err != nil {
			b.t.Fatal(err)
		}
		names[tool.Name] = true
	}
	return names
}

// killed kills the server, first the process that the service started, then the last one below it, and awaits another in
// its place. Nothing of the old one stays, and nothing happens to the others.
func (b *bed) killed(s realServer, session *sdk.ClientSession) {
	b.t.Helper()
	for _, which := range []string{"first", "last"} {
		before := b.servers()
		old := marked(b.t, b.mark(s.name))
		victim := before[s.name].PID
		if which == "last" {
			below := descendants(b.t, victim)
			if len(below) == 1 {
				return // it is the first
			}
			victim = below[len(below)-1]
		}
		if _, ours := old[victim]; !ours {
			b.t.Fatalf("%s: process %d has no mark of this test", s.name, victim)
		}
		b.t.Logf("%s: killing the %s of %d processes: %s", s.name, which, len(old), old[victim].command)
		if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
			b.t.Fatal(err)
		}
		b.await(s.name+" in a new process", func() bool {
			now := b.server(s.name)
			return now.State == "ready" && now.PID != before[s.name].PID
		})
		s.answers(b.t, session)
		b.await("the end of the killed "+s.name, func() bool {
			for pid := range marked(b.t, b.mark(s.name)) {
				if _, still := old[pid]; still {
					return false
				}
			}
			return true
		})
		for name, now := range b.servers() {
			if name != s.name && (now.PID != before[name].PID || now.State != "ready") {
				b.t.Errorf("when %s was killed, %s was process %d and is %d, %s", s.name, name, before[name].PID, now.PID, now.State)
			}
		}
	}
}

// restarted restarts the servers that are reached by HTTP, which forgets their sessions: the next call works.
func (b *bed) restarted(servers []realServer, session *sdk.ClientSession) {
	b.t.Helper()
	done := map[*webServer]bool{nil: true}
	for _, s := range servers {
		if !done[s.web] {
			done[s.web] = true
			s.web.kill()
			s.web.start()
			for _, other := range servers {
				if other.web == s.web {
					other.answers(b.t, session)
				}
			}
		}
	}
}

// removed takes out one server after the other. The processes of the others stay what they are.
func (b *bed) removed(servers []realServer, session *sdk.ClientSession) {
	b.t.Helper()
	if tree := marked(b.t, b.mark("wrapper")); len(tree) < 3 {
		b.t.Errorf("the wrapper should be bash, npx and the server, but is %v", tree)
	}
	for len(servers) > 0 {
		gone, before := servers[0], b.servers()
		servers = servers[1:]
		b.configure(servers)
		b.await("the end of "+gone.name, func() bool {
			_, configured := b.servers()[gone.name]
			return !configured && len(marked(b.t, b.mark(gone.name))) == 0
		})
		now := b.servers()
		for _, s := range servers {
			if now[s.name].PID != before[s.name].PID {
				b.t.Errorf("when %s was taken out, %s was process %d and is %d", gone.name, s.name, before[s.name].PID, now[s.name].PID)
			}
			if s.web == nil && now[s.name].PID == 0 {
				b.t.Errorf("%s runs in no process: %+v", s.name, now[s.name])
			}
		}
		prefix := gone.name + "__"
		if names := slices.Collect(maps.Keys(b.listed(session))); slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, prefix) }) {
			b.t.Errorf("the tools of %s are still listed: %v", gone.name, names)
		}
	}
}
