//go:build e2e

package e2e

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// finding is one of `traposd doctor --json`.
type finding struct{ Level, Subject, Message, Remedy string }

func (b *bed) doctor(cmd ...string) []finding {
	b.t.Helper()
	look := b.command(cmd[0], cmd[1:]...)
	out, _ := look.Output() // it exits 1 where something does not work
	var report struct{ Findings []finding }
	if err := json.Unmarshal(out, &report); err != nil {
		b.t.Fatalf("%s: %v\n%s", strings.Join(cmd, " "), err, out)
	}
	return report.Findings
}

// names tells whether a finding that is no good news says each part, and has a remedy.
func names(findings []finding, parts []string) bool {
	return slices.ContainsFunc(findings, func(f finding) bool {
		if f.Level == "ok" || f.Remedy == "" {
			return false
		}
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(f.Message+" → "+f.Remedy, part) })
	})
}

// TestPlantedFaults plants what goes wrong most often, and has the doctor name each with what to do.
func TestPlantedFaults(t *testing.T) {
	b := newBed(t)
	b.write(`{"mcpServers": {
		"missing":     {"command": "/nowhere/server"},
		"unset":       {"command": "` + b.program + `", "args": ["demo-server", "dice"], "env": {"K": "${UNSET_IN_THIS_TEST}"}},
		"crashes":     {"command": "sh", "args": ["-c", "echo boom >&2; exit 7"]},
		"unreachable": {"type": "http", "url": "http://127.0.0.1:1/mcp"}
	}}`)
	config := filepath.Join(b.dir, "config")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "mcp.json"), []byte("{\n  \"mcpServers\": {\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.start()

	computer := b.command(b.program, "computer", "--id", "7", "--url", b.gateway)
	computer.Env = append(computer.Env, "TRAPOS_SERVER_PASSWORD=wrong")
	if err := computer.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = computer.Process.Kill()
		_ = computer.Wait()
	}()
	b.callWithLostSession()

	faults := map[string][]string{
		"missing command":      {`server "missing"`, "nothing that can be executed", "traposd restart missing"},
		"unset variable":       {`server "unset"`, "UNSET_IN_THIS_TEST is not set", ".mcp.json:"},
		"crash loop":           {`server "crashes"`, "in a loop", "code 7", "boom"},
		"unreachable url":      {`server "unreachable"`, "refused", "traposd restart unreachable"},
		"broken JSON":          {filepath.Join(config, "mcp.json") + ":", "mend it there"},
		"wrong password":       {"computer refused", "code=unauthorized", "cloud password"},
		"denied CC rule":       {"no computer is connected", "$private", "computercraft-server.toml"},
		"stale client session": {"a client sends a session that is gone", "connect again"},
	}
	b.await("every fault to be named", func() bool {
		findings := b.doctor(b.program, "doctor", "--json")
		for _, parts := range faults {
			if !names(findings, parts) {
				return false
			}
		}
		return true
	})
	if limited := b.doctor("unshare", "--user", "--map-root-user", "sh", "-c",
		"echo 0 >/proc/sys/user/max_inotify_instances; exec \"$0\" doctor --json", b.program); !names(limited, []string{"inotify", "fs.inotify.max_user_instances"}) {
		t.Errorf("full inotify: %v", limited)
	}
	b.stop()

	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	b.env = append(b.env, "TRAPOS_MCP_ADDR="+taken.Addr().String())
	if stopped := b.doctor(b.program, "doctor", "--json"); !names(stopped, []string{taken.Addr().String(), "another program", "MCP_PORT"}) {
		t.Errorf("port taken: %v", stopped)
	}
}

// callWithLostSession is a client that has not understood that the service was started anew.
func (b *bed) callWithLostSession() {
	b.t.Helper()
	body := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.url, body)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Session-Id", "of-an-earlier-life")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		b.t.Error(resp.Status)
	}
}
