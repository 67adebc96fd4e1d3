package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// own replaces traposd.json and has it applied; an empty text removes it.
func (r *running) own(text string) {
	r.t.Helper()
	path := r.settings.ownFilePath()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil && text != "" {
		err = os.WriteFile(path, []byte(text), 0o600)
	} else if err == nil {
		err = os.Remove(path)
	}
	if err == nil {
		err = r.reload(r.t.Context())
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// try is a call in a session, whatever comes of it: "ok", or the kind of the failure, and the message.
func try(t *testing.T, session *sdk.ClientSession, tool string, arguments map[string]any) (kind, message string) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	structured, _ := result.StructuredContent.(map[string]any)
	failure, failed := structured["error"].(map[string]any)
	if !failed {
		return "ok", ""
	}
	return fmt.Sprint(failure["kind"]), fmt.Sprint(failure["message"])
}

// An edit of the policy holds from the next call on, and a broken one takes nothing away.
func TestPolicyIsAppliedLive(t *testing.T) {
	w := startWorld(t, ComputerOptions{ID: 3, Label: "base"})
	for _, step := range []struct{ file, kind, words, problem string }{
		{file: `{"allowedHosts": []}`, kind: "ok"},
		{file: "{\n  \"policy\": [{\"tools\": {\"deny\": [\"exec-lua\"]}}]}", kind: "denied", words: "traposd.json:2:14"},
		{file: "{\n  \"policy\": [{\"tools\": {\"denied\": [\"exec-lua\"]}}]}", kind: "denied", words: "traposd.json:2:14", problem: ":2:25: error: policy[0].tools: "},
		{file: `{"policy": [], "policy": []}`, kind: "denied", problem: "twice"},
		{file: `{"policies": []}`, kind: "denied", problem: ":1:2: error: policy: "},
		{file: `{"policy": [`, kind: "denied", problem: "traposd.json:1:"},
		{file: `{"policy": [{"traposId": "4:*", "readOnly": true}]}`, kind: "ok"},
		{file: `{"policy": [{"label": "ba*", "readOnly": true}]}`, kind: "denied", words: "readOnly"},
		{file: `{"policy": []}`, kind: "ok"},
		{file: `{"policy": [{"readOnly": true}]}`, kind: "denied"},
		{file: ``, kind: "ok"},
	} {
		w.own(step.file)
		var kind, message string
		await(t, "the edit to be applied", func() bool { // a file that is gone is believed to be so after a moment
			kind, message = try(t, w.session, "exec-lua", map[string]any{"computer": "3", "code": "return 1"})
			return step.file != "" || kind == step.kind
		})
		if kind != step.kind || !strings.Contains(message, step.words) {
			t.Errorf("%s: %s %s", step.file, kind, message)
		}
		problems := w.reloader.current().problems
		if (step.problem == "") != (len(problems) == 0) || len(problems) > 0 && (!strings.Contains(fmt.Sprint(problems), step.problem) || problems[0].Field != "" && !problems[0].KeptLastGood) {
			t.Errorf("%s: problems %v", step.file, problems)
		}
	}
	if lines := w.logs.FilterMessage("policy applied").All(); len(lines) == 0 || lines[0].ContextMap()["rules"] != int64(0) || lines[1].ContextMap()["rules"] != int64(1) {
		t.Errorf("log: %v", lines)
	}
}

// A service that starts with a policy it does not understand denies what that may be about.
func TestFirstStartWithABrokenPolicy(t *testing.T) {
	for file, want := range map[string]string{
		`{"policy": [{"network": "home"}, {"readonly": true}]}`: "home allow, work deny",
		`{"policy": 7}`:          "home deny, work deny",
		`{"policy": [`:           "home deny, work deny",
		`{"polcy": []}`:          "home deny, work deny",
		`{"allowedHosts": 7}`:    "home allow, work allow",
		`{"servers": {"a": {}}}`: "home allow, work allow",
	} {
		settings := testSettings(t)
		if err := os.MkdirAll(settings.ConfigDir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(settings.ownFilePath(), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		r := start(t, settings, `{"mcpServers":{}}`)
		var got []string
		for _, network := range []string{"home", "work"} {
			got = append(got, network+" "+r.policy.Load().Decide(policyRequest(network)).Outcome.String())
		}
		if strings.Join(got, ", ") != want || len(r.serversReport().Problems) == 0 {
			t.Errorf("%s: %v, want %s; problems %v", file, got, want, r.serversReport().Problems)
		}
		r.own(`{"policy": []}`)
		if v := r.policy.Load().Decide(policyRequest("work")); v.Outcome.String() != "allow" {
			t.Errorf("%s, mended: %+v", file, v)
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
	}
}

// However a path is written, a real disk does not give out or take what a rule denies.
func TestNoSpellingGoesAroundAPath(t *testing.T) {
	w := startWorld(t, ComputerOptions{ID: 3, Label: "base"})
	at := func(more map[string]any) map[string]any {
		more["computer"] = "3"
		return more
	}
	w.done("write-file", at(map[string]any{"path": "secret/x", "content": "canary"}))
	w.done("write-file", at(map[string]any{"path": "open/y", "content": "y"}))
	w.own(`{"policy": [{"tools": {"allow": ["*", "exec-lua"]}, "read": {"deny": ["secret", "gone.lua"]}, "write": {"deny": ["secret", "gone.lua"]}}]}`)
	for _, path := range []string{
		"secret/x", "/secret/x", "//secret//x", "./secret/./x", "open/../secret/x", `secret\x`, `\open\..\secret\x`, "secret/x/", "secret/y/../x",
		"secret /x", "secret/x ", "secret/.../x", "open/.. /secret/x", ".../secret/x", "secret\x00/x", "se*cret/x", "secret?/x", "secret:/x", "../secret/x",
		"open/" + strings.Repeat("z/../", 30) + "../secret/x", "Secret/x", "secret/x.trapos-new", "secret", "secret.", "SECRET~1/x",
	} {
		for tool, arguments := range map[string]map[string]any{
			"read-file":   {"path": path},
			"write-file":  {"path": path, "content": "changed"},
			"edit-file":   {"path": path, "old": "canary", "new": "changed"},
			"delete-file": {"path": path, "recursive": true},
			"move-file":   {"from": path, "to": "open/z"},
			"list-files":  {"path": path},
		} {
			if kind, message := try(t, w.session, tool, at(arguments)); kind != "denied" {
				t.Errorf("%s %q: %s %s", tool, path, kind, message)
			}
		}
		if kind, _ := try(t, w.session, "move-file", at(map[string]any{"from": "open/y", "to": path, "replace": true})); kind != "denied" {
			t.Errorf("move-file to %q: %s", path, kind)
		}
	}
	// A folder above it is as good as itself, and a leftover of a write would become the file at the next boot.
	for _, call := range []struct {
		tool      string
		arguments map[string]any
	}{
		{"delete-file", map[string]any{"path": "/", "recursive": true}},
		{"move-file", map[string]any{"from": "open/..", "to": "b"}},
		{"write-file", map[string]any{"path": "gone.lua.trapos-new", "content": "x"}},
		{"move-file", map[string]any{"from": "open/y", "to": "gone.lua.trapos-old"}},
	} {
		if kind, _ := try(t, w.session, call.tool, at(call.arguments)); kind != "denied" {
			t.Errorf("%s %v: %s", call.tool, call.arguments, kind)
		}
	}
	if listed := w.done("list-files", at(map[string]any{"recursive": true})); listed["hidden"].(float64) < 2 || strings.Contains(fmt.Sprint(listed), "secret") {
		t.Errorf("listed: %v", listed)
	}
	w.done("move-file", at(map[string]any{"from": "open/y", "to": "open/z"}))
	got := w.done("exec-lua", at(map[string]any{"code": `local f = fs.open("secret/x", "r") return f.readAll(), fs.exists("gone.lua.trapos-new")`}))
	if returns := fmt.Sprint(got["returns"]); !strings.Contains(returns, "canary") || !strings.Contains(returns, "false") {
		t.Errorf("the file: %s", returns)
	}
	if logged := fmt.Sprint(w.logs.All()); strings.Contains(logged, "canary") || strings.Contains(logged, "changed\n") {
		t.Error("the log has content of files")
	}
}

// Somebody at the client is asked, in both eras of the protocol, and the audit says who called in which session.
func TestPolicyAsksFirst(t *testing.T) {
	w := startWorld(t, ComputerOptions{ID: 3, Label: "base"})
	w.own(`{"policy": [{"tools": {"ask": ["write-file"]}}]}`)
	arguments := map[string]any{"computer": "3", "path": "a", "content": "canary"}
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		for _, action := range []string{"accept", "decline", "cancel"} {
			var questions []string
			session := w.connect(revision, &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				questions = append(questions, r.Params.Message)
				return &sdk.ElicitResult{Action: action}, nil
			}})
			kind, message := try(t, session, "write-file", arguments)
			want := map[bool]string{true: "ok", false: "declined"}[action == "accept"]
			if kind != want || len(questions) != 1 || !strings.Contains(questions[0], "Path: a\nWhat it sends:\ncanary") {
				t.Errorf("%s %s: %s %s %q", revision, action, kind, message, questions)
			}
		}
		if kind, message := try(t, w.connect(revision, nil), "write-file", arguments); kind != "cannot_ask" || !strings.Contains(message, "elicitation") {
			t.Errorf("%s: %s %s", revision, kind, message)
		}
	}
	sessions := map[any]int{}
	for _, line := range w.logs.FilterMessage("computer tool used").All() {
		fields := line.ContextMap()
		sessions[fields["session"]]++
		if fields["client"] != "test/1" || fields["tool"] != "write-file" || fields["path"] != "a" || !strings.HasSuffix(fmt.Sprint(fields["rule"]), " tools.ask") || strings.Contains(fmt.Sprint(fields), "canary") {
			t.Errorf("the audit says %v", fields)
		}
	}
	// Four sessions, and four calls of clients that have none.
	if len(sessions) != 5 || sessions[nil] != 4 {
		t.Errorf("sessions: %v", sessions)
	}
}

// The examples of the manual are good ones.
func TestPolicyExamples(t *testing.T) {
	manual, err := os.ReadFile(filepath.Join("..", "packaging", "doc", "policy.md"))
	if err != nil {
		t.Fatal(err)
	}
	path, examples := filepath.Join(t.TempDir(), ownFileName), 0
	for _, part := range strings.Split(string(manual), "```jsonc\n")[1:] {
		example, _, _ := strings.Cut(part, "```")
		if !strings.Contains(example, `"policy"`) {
			example = `{"policy": [` + example + `]}`
		}
		if err := os.WriteFile(path, []byte(example), 0o600); err != nil {
			t.Fatal(err)
		}
		got, problems := readOwnFile(path, ownFile{})
		if len(problems) > 0 || got.policy.Rules() == 0 {
			t.Errorf("%s: %v", example, problems)
		}
		examples++
	}
	if examples != 2 {
		t.Errorf("%d examples", examples)
	}
}

// Each computer of a call has its own rule: one may not, one is cut short, one may.
func TestPolicyOnManyComputers(t *testing.T) {
	w := startWorld(t, ComputerOptions{ID: 1, Label: "hub"}, ComputerOptions{ID: 2, Label: "farm"}, ComputerOptions{ID: 3, Label: "far", Network: "other"})
	w.own(`{"policy": [{"label": "hub", "readOnly": true}, {"network": "other", "maxRunSeconds": 0.5}]}`)
	_, got := w.call("exec-lua", map[string]any{"computers": []string{"*"}, "timeoutMs": 60_000, "code": `
		if os.getComputerID() == 3 then while true do end end
		return "done"`})
	var results []string
	for _, r := range got["results"].([]any) {
		r := r.(map[string]any)
		failure, _ := r["error"].(map[string]any)
		results = append(results, fmt.Sprintf("%v %v %v", r["computer"], r["ok"], failure["kind"]))
		if failure["kind"] == "timeout" && !strings.Contains(fmt.Sprint(failure["message"]), "traposd.json:1:49") {
			t.Errorf("the limit is nobody's: %v", failure)
		}
	}
	if want := "1:hub false denied, 2:farm true <nil>, 3:far false timeout"; strings.Join(results, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(results, ", "), want)
	}
}
