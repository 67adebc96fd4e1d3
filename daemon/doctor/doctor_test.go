package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/traposd/traposd/daemon"
	"github.com/traposd/traposd/daemon/clients"
	"github.com/traposd/traposd/daemon/recent"
)

// service is a service that says what it is told to.
type service struct {
	report daemon.StatusReport
	err    error
}

func (s service) Status(context.Context) (daemon.StatusReport, error) { return s.report, s.err }

func options(t *testing.T, s service, variables map[string]string) Options {
	t.Helper()
	getenv := func(name string) string { return variables[name] }
	home := t.TempDir()
	return Options{Service: s, Getenv: getenv, Places: clients.Places{Home: home, Config: home, Getenv: getenv}, Version: "v1"}
}

// endpointAt answers tools/list with one tool.
func endpointAt(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var request struct {
			ID json.RawMessage `json:"id"`
		}
		if r.URL.Path != "/mcp" || json.Unmarshal(body, &request) != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{}]}}`, request.ID)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

func well(t *testing.T) daemon.StatusReport {
	t.Helper()
	return daemon.StatusReport{
		Service: daemon.ServiceReport{Program: "v1", PID: 1, MCP: endpointAt(t), Gateway: "ws://192.0.2.1:4444/gateway"},
		Servers: []daemon.ServerReport{{Name: "good", State: "ready"}},
		Computers: []daemon.ComputerReport{
			{TraposID: "1:a", State: "ready"},
		},
	}
}

// expect checks that a finding of that level and subject says each part, in its message or its remedy.
func expect(t *testing.T, r Report, level Level, subject string, parts ...string) {
	t.Helper()
	for _, f := range r.Findings {
		if f.Level != level || f.Subject != subject {
			continue
		}
		all := true
		for _, part := range parts {
			all = all && strings.Contains(f.Message+" → "+f.Remedy, part)
		}
		if all {
			if level == Problem && f.Remedy == "" {
				t.Errorf("no remedy: %+v", f)
			}
			return
		}
	}
	t.Errorf("no %s about %s says %q: %+v", level, subject, parts, r.Findings)
}

func TestAllIsWell(t *testing.T) {
	r := Examine(t.Context(), options(t, service{report: well(t)}, nil))
	if !r.Healthy() {
		t.Errorf("%+v", r.Findings)
	}
	expect(t, r, OK, "service", "v1")
	expect(t, r, OK, "endpoint", "1 tool")
	expect(t, r, OK, "files")
	expect(t, r, OK, "servers", "1 of 1")
	expect(t, r, OK, "computers", "1 computer connected")
}

func TestAServiceWithoutServers(t *testing.T) {
	s := well(t)
	s.Servers = nil
	s.Warnings = []recent.Event{{Time: time.Now(), Message: "entry waits for approval; see traposd approve --list", Fields: map[string]any{"server": "gone"}}}
	r := Examine(t.Context(), options(t, service{report: s}, nil))
	expect(t, r, Hint, "servers", "no server is configured", "traposd workspace add")
	for _, f := range r.Findings {
		if f.Subject == "log" {
			t.Errorf("what waits no longer is told: %+v", f)
		}
	}
}

func TestAServiceThatDoesNotRun(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	stopped := service{err: fmt.Errorf("%w here", daemon.ErrNotRunning)}
	r := Examine(t.Context(), options(t, stopped, map[string]string{
		"HOME": t.TempDir(), "TRAPOS_SERVER_PASSWORD": "canary", "TRAPOS_MCP_ADDR": taken.Addr().String(), "TRAPOS_GATEWAY_ADDR": "127.0.0.1:0",
	}))
	expect(t, r, Problem, "service", "not running", "traposd run")
	expect(t, r, Problem, "port", taken.Addr().String(), "another program", "MCP_PORT")
	expect(t, r, Warning, "secrets", "shorter")
	if text, _ := json.Marshal(r); strings.Contains(string(text), "canary") || r.Healthy() {
		t.Errorf("%s", text)
	}
	r = Examine(t.Context(), options(t, stopped, map[string]string{"HOME": t.TempDir()}))
	expect(t, r, Problem, "settings", "TRAPOS_SERVER_PASSWORD")
}

func TestWhatTheServiceTells(t *testing.T) {
	s := well(t)
	s.Service.Program, s.Service.Gateway = "v0", "ws://127.0.0.1:4444/gateway"
	s.Files = []daemon.FileReport{{Path: "/w/.mcp.json", Scope: "workspace"}, {Path: "/g/mcp.json", Exists: true}}
	s.Problems = []daemon.ProblemReport{
		{Severity: "error", Path: "/g/mcp.json", Line: 3, Column: 4, Server: "x", Field: "env.A", Message: "variable B is not set", KeptLastGood: true},
		{Severity: "warning", Path: "/g/mcp.json", Line: 5, Column: 6, Message: "odd"},
	}
	s.Pending = []daemon.Pending{{Name: "new one", Source: daemon.SourceReport{Path: "/w/.mcp.json"}}}
	s.Servers = []daemon.ServerReport{
		{Name: "a; rm -rf ~", State: "backing-off", Restarts: 7, Error: "exited (code 1): boom", Source: daemon.SourceReport{Path: "/g/mcp.json", Line: 9}},
		{Name: "b", State: "degraded", Error: "no answer"},
		{Name: "c", State: "needs-login", Error: "401"},
		{Name: "d", State: "ready", Restarts: 4},
		{Name: "e", State: "off"},
	}
	s.Computers = nil
	s.Warnings = []recent.Event{
		{Time: time.Now(), Message: "computer refused", Fields: map[string]any{"code": "unauthorized", "remote": "192.0.2.7"}},
		{Time: time.Now(), Message: "file events are limited, edits are noticed by polling: raise the sysctl"},
		{Time: time.Now(), Message: "a client sends a session that is gone"},
		{Time: time.Now(), Message: "server down", Fields: map[string]any{"server": "b", "state": "backing-off"}},
	}
	r := Examine(t.Context(), options(t, service{report: s}, nil))
	expect(t, r, Warning, "service", "v0", "v1", "traposd restart")
	expect(t, r, Hint, "files", "/w/.mcp.json is not there")
	expect(t, r, Problem, "files", "/g/mcp.json:3:4", `server "x": env.A: variable B`, "last good version serves")
	expect(t, r, Warning, "files", "/g/mcp.json:5:6")
	expect(t, r, Warning, "approval", `traposd approve 'new one'`)
	expect(t, r, Problem, "servers", "in a loop, 7 times", "boom", "/g/mcp.json:9", `traposd restart 'a; rm -rf ~'`)
	expect(t, r, Problem, "servers", "former configuration", "no answer")
	expect(t, r, Problem, "servers", "wants a login")
	expect(t, r, Warning, "servers", "started again 4 times")
	expect(t, r, OK, "servers", "1 of 5")
	expect(t, r, Hint, "computers", "install.lua", "$private", "127.0.0.1")
	expect(t, r, Hint, "computers", "loopback", "TRAPOS_GATEWAY_ADDR")
	expect(t, r, Warning, "log", "192.0.2.7", "cloud password")
	expect(t, r, Warning, "log", "sysctl -w")
	expect(t, r, Warning, "log", "connect again")
	for _, f := range r.Findings {
		if strings.Contains(f.Message, "server down") {
			t.Errorf("told twice: %+v", f)
		}
	}
}

func TestAnEndpointThatDoesNotAnswer(t *testing.T) {
	s := well(t)
	s.Service.MCP += "/other"
	r := Examine(t.Context(), options(t, service{report: s}, nil))
	expect(t, r, Problem, "endpoint", "does not answer", "TRAPOS_MCP_TOKEN")
}

func TestRightsOfFiles(t *testing.T) {
	if !privateRights {
		return // there modes say nothing
	}
	state, file := t.TempDir(), filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o644); err != nil { //nolint:gosec // the fault that is to be found
		t.Fatal(err)
	}
	if err := os.Chmod(state, 0o755); err != nil { //nolint:gosec // the fault that is to be found
		t.Fatal(err)
	}
	r := Examine(t.Context(), options(t, service{report: well(t)}, map[string]string{
		"TRAPOS_STATE_DIR": state, "TRAPOS_SERVER_PASSWORD_FILE": file, "TRAPOS_MCP_TOKEN_FILE": file + "-missing",
	}))
	expect(t, r, Warning, "folders", state, "chmod 700")
	expect(t, r, Warning, "secrets", file, "chmod 600")
	expect(t, r, Problem, "secrets", "TRAPOS_MCP_TOKEN_FILE", "unset")
}

func TestClientsOfThisMachine(t *testing.T) {
	s := well(t)
	o := options(t, service{report: s}, nil)
	put := func(client, text string) {
		path := clients.Find(client).Path(o.Places)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("claude", `{}`)
	put("gemini", `{"mcpServers": {"traposd": {"httpUrl": "http://127.0.0.1:1/mcp"}}}`)
	put("vscode", `{"servers": `)
	put("cursor", string(clients.Find("cursor").Snippet(s.Service.MCP, true)))
	put("codex", string(clients.Find("codex").Snippet(s.Service.MCP, false)))
	r := Examine(t.Context(), o)
	expect(t, r, Hint, "clients", "Claude Code", "traposd connect claude")
	expect(t, r, Warning, "clients", "Gemini CLI", "leads elsewhere", "traposd connect gemini")
	expect(t, r, Warning, "clients", "VS Code", "mend that file")
	expect(t, r, OK, "clients", "Cursor")
	expect(t, r, OK, "clients", "Codex")
	for _, f := range r.Findings {
		if strings.Contains(f.Message, "opencode") {
			t.Errorf("about a client that is not here: %+v", f)
		}
	}
}
