package computertools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tailscale/hujson"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/traposd/traposd/daemon/policy"
	"github.com/traposd/traposd/gateway"
)

func rules(t *testing.T, text string) *policy.Policy {
	t.Helper()
	v, err := hujson.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, problems := policy.Parse(v, policy.Options{At: func(int) string { return "traposd.json:1:2" }, Tools: Names()})
	if len(problems) > 0 {
		t.Fatalf("%s: %v", text, problems)
	}
	return &p
}

// world is two computers in two networks. It keeps what they were asked: "network/traposId type payload".
func world(asked *[]string, answer func(kind string) string) registry {
	var mu sync.Mutex // a call of many computers asks them at once
	return registry{
		computers: []gateway.Computer{
			{NetworkID: "home", TraposID: "1:hub", ComputerID: 1, Label: "hub"},
			{NetworkID: "work", TraposID: "2:", ComputerID: 2},
		},
		answer: func(_ context.Context, network, computer, kind string, payload json.RawMessage) (json.RawMessage, error) {
			mu.Lock()
			defer mu.Unlock()
			*asked = append(*asked, fmt.Sprintf("%s/%s %s %s", network, computer, kind, payload))
			return json.RawMessage(answer(kind)), nil
		},
	}
}

// Every tool, denied by each kind of clause: nothing is sent, the error is coded and names the rule, and the log has a line.
func TestDeniedCalls(t *testing.T) {
	for tool, arguments := range requests {
		if tool == "probe-computers" {
			continue
		}
		for _, clause := range []string{`{"tools":{"deny":["` + tool + `"]}}`, `{"tools":{"allow":[]}}`, `{"readOnly":true}`, `{"read":{"allow":[]},"write":{"allow":[]}}`} {
			var asked []string
			core, logs := observer.New(zapcore.DebugLevel)
			s := over(world(&asked, func(string) string { return `{"ok":true}` }), zap.New(core))
			p := rules(t, `[`+clause+`]`)
			s.policy = func() *policy.Policy { return p }
			reads := strings.HasPrefix(tool, "read-") || tool == "list-files" || tool == "computer-info"
			pathless := tool == "computer-info" || tool == "read-screen" || tool == "reboot-computer"
			result, structured := callWith(t, s, tool, arguments)
			if strings.Contains(clause, "readOnly") && reads || strings.Contains(clause, "write") && pathless {
				if len(asked) != 1 {
					t.Errorf("%s %s: %v", clause, tool, structured)
				}
				continue
			}
			failure, _ := structured["error"].(map[string]any)
			message, _ := failure["message"].(string)
			if !result.IsError || structured["ok"] != false || failure["kind"] != "denied" || len(asked) != 0 ||
				!strings.Contains(message, "traposd.json:1:2") || !strings.Contains(message, tool) || !strings.Contains(message, "1:hub") {
				t.Errorf("%s %s: %v %v", clause, tool, structured, asked)
			}
			lines := logs.FilterMessage("computer tool used").All()
			if len(lines) != 1 || lines[0].ContextMap()["outcome"] != "denied" || !strings.HasPrefix(fmt.Sprint(lines[0].ContextMap()["rule"]), "traposd.json:1:2 ") {
				t.Errorf("%s %s: log %v", clause, tool, lines)
			}
		}
	}
}

// A rule about one computer leaves the others alone, and what a bare number means is settled before the rule is looked for.
func TestPolicyPerComputer(t *testing.T) {
	var asked []string
	s := over(world(&asked, func(string) string { return `{"ok":true}` }), zap.NewNop())
	p := rules(t, `[{"traposId":"1:*","tools":{"deny":["exec-lua"]}},{"network":"work","maxRunSeconds":2}]`)
	s.policy = func() *policy.Policy { return p }
	result, structured := callWith(t, s, "exec-lua", `{"computers":["*","9"],"code":"x","timeoutMs":5000}`)
	var got []string
	for _, r := range structured["results"].([]any) {
		r := r.(map[string]any)
		failure, _ := r["error"].(map[string]any)
		got = append(got, fmt.Sprintf("%v %v %v", r["computer"], r["ok"], failure["kind"]))
	}
	if want := "1:hub false denied, 2: true <nil>, 9 false unknown_computer"; result.IsError || structured["ok"] != false || strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
	if len(asked) != 1 || !strings.HasPrefix(asked[0], "work/2: exec-lua ") || !strings.Contains(asked[0], `"timeoutMs":2000`) {
		t.Errorf("asked %v", asked)
	}
	asked = nil
	callWith(t, s, "exec-lua", `{"computer":"2","code":"x","timeoutMs":1500}`)
	if result, _ := callWith(t, s, "exec-lua", `{"computer":"1","code":"x"}`); !result.IsError || len(asked) != 1 || !strings.Contains(asked[0], `"timeoutMs":1500`) {
		t.Errorf("asked %v", asked)
	}
	if result, _ := callWith(t, s, "exec-lua", `{"computers":["1:*"],"code":"x"}`); !result.IsError {
		t.Error("a call that is denied on every computer is no error")
	}
}

// Code that ran into the policy's limit is told whose limit that was.
func TestRunTimeIsClamped(t *testing.T) {
	var asked []string
	s := over(world(&asked, func(string) string { return `{"ok":false,"kind":"timeout","errorBase64":"` + b64("too long") + `"}` }), zap.NewNop())
	p := rules(t, `[{"maxRunSeconds":0.25}]`)
	s.policy = func() *policy.Policy { return p }
	result, _ := callWith(t, s, "exec-lua", `{"computer":"1","code":"x"}`)
	if want := "[timeout] too long (the policy at traposd.json:1:2 lets code run for 250ms at most)"; text(result) != want || !strings.Contains(asked[0], `"timeoutMs":250`) {
		t.Errorf("%q, asked %v", text(result), asked)
	}
	if result, _ := callWith(t, s, "exec-lua", `{"computer":"1","code":"x","timeoutMs":100}`); text(result) != "[timeout] too long" {
		t.Errorf("%q", text(result))
	}
}

// The person at the client decides, once for all computers of a call; who cannot be asked gets a refusal.
func TestAskFirst(t *testing.T) {
	for _, c := range []struct{ answer, kind string }{
		{"accept", ""}, {"decline", "declined"}, {"cancel", "declined"}, {"", "cannot_ask"}, {"nonsense", "declined"},
	} {
		var asked, questions []string
		core, logs := observer.New(zapcore.DebugLevel)
		s := over(world(&asked, func(string) string { return `{"ok":true}` }), zap.New(core))
		p := rules(t, `[{"tools":{"ask":["exec-lua"]}}]`)
		s.policy = func() *policy.Policy { return p }
		who := client{answer: c.answer, asked: &questions}
		_, structured := callAs(t, s, who, "exec-lua", `{"computers":["*"],"code":"print(1)\u001b\u202e -- canary"}`)
		for _, r := range structured["results"].([]any) {
			failure, _ := r.(map[string]any)["error"].(map[string]any)
			if kind, _ := failure["kind"].(string); kind != c.kind {
				t.Errorf("%s: %v", c.answer, r)
			}
		}
		if c.kind == "" != (len(asked) == 2) {
			t.Errorf("%s: asked %v", c.answer, asked)
		}
		want := "May tester/1 use exec-lua on 1:hub (network home), 2: (network work)? The policy at traposd.json:1:2 (tools.ask) asks you first.\n" +
			"What it sends:\nprint(1) -- canary"
		if c.answer != "" && (len(questions) != 1 || questions[0] != want) {
			t.Errorf("%s: %q", c.answer, questions)
		}
		outcome := map[bool]string{true: "ok", false: c.kind}[c.kind == ""]
		lines := logs.All()
		if len(lines) != 2 || lines[0].ContextMap()["outcome"] != outcome || lines[0].ContextMap()["rule"] != "traposd.json:1:2 tools.ask" || strings.Contains(fmt.Sprint(lines), "canary") {
			t.Errorf("%s: log %v", c.answer, lines)
		}
	}
}

// A policy that was changed while somebody thought about it holds.
func TestPolicyChangesWhileAsking(t *testing.T) {
	var asked, questions []string
	s := over(world(&asked, func(string) string { return `{"ok":true}` }), zap.NewNop())
	before, after := rules(t, `[{"tools":{"ask":["*"]}}]`), rules(t, `[{"readOnly":true}]`)
	s.policy = func() *policy.Policy {
		if len(questions) > 0 {
			return after
		}
		return before
	}
	_, structured := callAs(t, s, client{answer: "accept", asked: &questions}, "delete-file", `{"computer":"1","path":"a"}`)
	if failure := structured["error"].(map[string]any); failure["kind"] != "denied" || len(asked) != 0 {
		t.Errorf("%v %v", structured, asked)
	}
	if want := "May tester/1 use delete-file on 1:hub (network home)? The policy at traposd.json:1:2 (tools.ask) asks you first.\nPath: a"; questions[0] != want {
		t.Errorf("%q", questions[0])
	}
}

func TestTakesForms(t *testing.T) {
	for capabilities, want := range map[string]bool{
		``: false, `{}`: false, `{"elicitation":null}`: false, `{"elicitation":{}}`: true,
		`{"elicitation":{"form":{}}}`: true, `{"elicitation":{"url":{}}}`: false, `{"elicitation":{"url":{},"form":{}}}`: true,
	} {
		if takesForms(json.RawMessage(capabilities)) != want {
			t.Errorf("%s: not %v", capabilities, want)
		}
	}
}

// A folder is judged by all that may be in it; whether it is one is asked of the computer only if that matters.
func TestFoldersAndFiles(t *testing.T) {
	const notAFolder, folder = `{"ok":false,"kind":"bad_path"}`, `{"ok":true}`
	for _, c := range []struct{ policy, tool, arguments, listed, want string }{
		{`{"write":{"allow":["a/*"]}}`, "delete-file", `"path":"a/b","recursive":true`, notAFolder, "ok"},
		{`{"write":{"allow":["a/*"]}}`, "delete-file", `"path":"a/b","recursive":true`, folder, "denied"},
		{`{"write":{"allow":["a/*"]}}`, "delete-file", `"path":"a/b","recursive":true`, "rubbish", "denied"},
		{`{"write":{"allow":["a/*"]}}`, "delete-file", `"path":"a/b"`, "", "ok"},
		{`{"write":{"allow":["a/**"]}}`, "delete-file", `"path":"a/b","recursive":true`, "", "ok"},
		{`{"write":{"allow":["c/**"]}}`, "delete-file", `"path":"a/b","recursive":true`, "", "denied"},
		{`{"read":{"deny":["a/b/secret"]}}`, "move-file", `"from":"a","to":"c"`, folder, "denied"},
		{`{"read":{"deny":["a/b/secret"]}}`, "move-file", `"from":"a","to":"c"`, notAFolder, "ok"},
		{`{"read":{"deny":["a/b/secret"]}}`, "move-file", `"from":"c","to":"a"`, "", "ok"},
		{`{"write":{"deny":["startup"]}}`, "move-file", `"from":"c","to":"startup"`, "", "denied"},
		{`{"read":{"deny":["a"]}}`, "edit-file", `"path":"a","old":"x","new":"y"`, "", "denied"},
		{`{"read":{"deny":["a"]}}`, "write-file", `"path":"a","content":"y"`, "", "ok"},
		{`{"read":{"deny":["a"]}}`, "write-file", `"path":"a","content":"y","expectedSha256":"` + sumOfNothing + `"`, "", "denied"},
	} {
		var asked []string
		s := over(world(&asked, func(kind string) string {
			if kind == "list-files" {
				return c.listed
			}
			return `{"ok":true}`
		}), zap.NewNop())
		p := rules(t, `[`+c.policy+`]`)
		s.policy = func() *policy.Policy { return p }
		_, structured := callWith(t, s, c.tool, `{"computer":"1",`+c.arguments+`}`)
		got := "ok"
		if failure, ok := structured["error"].(map[string]any); ok {
			got, _ = failure["kind"].(string)
		}
		looked := len(asked) > 0 && strings.Contains(asked[0], " list-files ")
		if got != c.want || looked != (c.listed != "") {
			t.Errorf("%s: %s %s: %v %v", c.policy, c.tool, c.arguments, structured, asked)
		}
	}
}

// What may not be seen is left out of lists, and counted.
func TestHidden(t *testing.T) {
	var asked []string
	s := over(world(&asked, func(kind string) string {
		if kind == "ping" {
			return `{}`
		}
		return `{"ok":true,"entries":[{"path":"a"},{"path":"secret","directory":true},{"pathBase64":"` + b64("secret/\xff") + `"}]}`
	}), zap.NewNop())
	p := rules(t, `[{"network":"home","read":{"deny":["secret"]}},{"tools":{"deny":["probe-computers"]}}]`)
	s.policy = func() *policy.Policy { return p }
	result, structured := callWith(t, s, "list-files", `{"computer":"1"}`)
	if len(structured["entries"].([]any)) != 1 || structured["hidden"] != 2.0 || text(result) != "a  0\n[1 entries; 2 hidden by the policy]" {
		t.Errorf("%v %q", structured, text(result))
	}
	result, structured = callWith(t, s, "probe-computers", `{}`)
	if len(structured["computers"].([]any)) != 1 || structured["hidden"] != 1.0 || !strings.HasSuffix(text(result), "\n1 more are hidden by the policy") {
		t.Errorf("%v %q", structured, text(result))
	}
}
