package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tailscale/hujson"
)

var tools = []string{"exec-lua", "write-file", "read-file", "delete-file", "move-file", "list-files", "send-keys", "computer-info", "probe-computers"}

func parse(t testing.TB, text string) (Policy, []Problem) {
	t.Helper()
	v, err := hujson.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return Parse(v, Options{At: func(offset int) string { return fmt.Sprintf("traposd.json:1:%d", offset+1) }, Tools: tools})
}

func sound(t testing.TB, text string) *Policy {
	t.Helper()
	p, problems := parse(t, text)
	if len(problems) > 0 || p.Doubtful() {
		t.Fatalf("%s: %v", text, problems)
	}
	return &p
}

// request reads "tool" or "tool path…", in the way that the tools use paths.
func request(text string) Request {
	words := strings.Fields(text)
	r := Request{
		Computer: Computer{Network: "home", TraposID: "7:base", Label: "base"}, Tool: words[0],
		Changes: !strings.HasPrefix(words[0], "read-") && words[0] != "list-files" && words[0] != "computer-info",
		Open:    words[0] == "exec-lua" || words[0] == "send-keys",
	}
	for i, word := range words[1:] {
		name, below := strings.CutSuffix(word, "+")
		p := Path{Name: name, Below: below}
		switch {
		case words[0] == "read-file" || words[0] == "list-files":
			r.Read = append(r.Read, p)
		case words[0] == "move-file" && i == 0:
			r.Read, r.Write = append(r.Read, p), append(r.Write, p)
		default:
			r.Write = append(r.Write, p)
		}
	}
	return r
}

// decisions are a policy, a call, and what is decided: the outcome, and the clause that says so.
var decisions = []struct{ policy, call, want string }{
	{`[]`, "exec-lua", "allow"},
	{`[{}]`, "exec-lua", "allow"},
	// The first rule that fits decides, alone.
	{`[{"network":"home"},{"readOnly":true}]`, "exec-lua", "allow"},
	{`[{"network":"work","readOnly":true}]`, "exec-lua", "allow"},
	{`[{"network":["w*","h?me"],"traposId":"7:*","label":"b*","readOnly":true}]`, "exec-lua", "deny readOnly"},
	{`[{"network":"home","label":"x","readOnly":true},{"tools":{"deny":["exec-lua"]}}]`, "exec-lua", "deny tools.deny"},
	{`[{"readOnly":true}]`, "read-file a", "allow"},
	// Tools: deny, then ask, then allow.
	{`[{"tools":{"allow":["read-*"]}}]`, "read-file a", "allow"},
	{`[{"tools":{"allow":["read-*"]}}]`, "write-file a", "deny tools.allow"},
	{`[{"tools":{"allow":[]}}]`, "read-file a", "deny tools.allow"},
	{`[{"tools":{"ask":["*-file"]}}]`, "write-file a", "ask tools.ask"},
	{`[{"tools":{"ask":["*-file"],"allow":[]}}]`, "write-file a", "ask tools.ask"},
	{`[{"tools":{"ask":["*-file"],"deny":["write-file"],"allow":["*"]}}]`, "write-file a", "deny tools.deny"},
	// Paths: allow is narrow.
	{`[{"write":{"allow":["data"]}}]`, "write-file data", "allow"},
	{`[{"write":{"allow":["/data"]}}]`, "write-file //./data", "allow"},
	{`[{"write":{"allow":["data"]}}]`, "write-file data/x", "deny write.allow"},
	{`[{"write":{"allow":["data"]}}]`, "write-file DATA", "deny write.allow"},
	{`[{"write":{"allow":["data/**"]}}]`, `write-file \data\sub/x`, "allow"},
	{`[{"write":{"allow":["data/**"]}}]`, "write-file data/../startup.lua", "deny write.allow"},
	{`[{"write":{"allow":["data/*.txt"]}}]`, "write-file data/a.txt", "allow"},
	{`[{"write":{"allow":["data/*.txt"]}}]`, "write-file data/s/a.txt", "deny write.allow"},
	{`[{"write":{"allow":["**/*.txt"]}}]`, "write-file a.txt", "allow"},
	{`[{"write":{"allow":["**"]}}]`, "write-file a/b", "allow"},
	{`[{"write":{"allow":["data/**"]}}]`, "read-file etc/x", "allow"},
	{`[{"read":{"allow":["data/**"]}}]`, "list-files /", "deny read.allow"},
	{`[{"read":{"allow":["/"]}}]`, "list-files /", "allow"},
	{`[{"read":{"allow":["/"]}}]`, "read-file a", "deny read.allow"},
	// Paths: deny and ask are wide.
	{`[{"read":{"deny":["Secret"]}}]`, "read-file a/../secreT/./x", "deny read.deny"},
	{`[{"read":{"deny":["secret"]}}]`, "read-file secret./x", "deny read.deny"},
	{`[{"read":{"deny":["secret."]}}]`, "read-file secret/x", "deny read.deny"},
	{`[{"read":{"deny":["secret"]}}]`, "read-file secrets", "allow"},
	{`[{"read":{"deny":["→"]}}]`, "read-file →/x", "deny read.deny"},
	{`[{"read":{"deny":["a/**/**/b"]}}]`, "read-file a/x/b", "deny read.deny"},
	{`[{"read":{"deny":["É"]}}]`, "read-file \xe9", "deny read.deny"},
	{`[{"read":{"deny":["É/x"]}}]`, "read-file É/X", "deny read.deny"},
	{`[{"read":{"deny":["secretfile.txt"]}}]`, "read-file SECRET~1.TXT", "deny read.deny"},
	{`[{"read":{"deny":["secretfile.txt"]}}]`, "read-file backup~.txt", "allow"},
	{`[{"read":{"ask":["secretfile.txt"]}}]`, "read-file SECRET~1.TXT", "ask read.ask"},
	{`[{"read":{"deny":["**/*.key"]}}]`, "read-file a.KEY", "deny read.deny"},
	{`[{"read":{"deny":["/"]}}]`, "read-file x", "deny read.deny"},
	{`[{"read":{"ask":["log"],"allow":[]}}]`, "read-file log/x", "ask read.ask"},
	{`[{"read":{"ask":["log"],"deny":["log/a"]}}]`, "read-file log/a", "deny read.deny"},
	// What a write leaves behind becomes the file itself at boot.
	{`[{"write":{"deny":["startup.lua"]}}]`, "write-file startup.lua.trapos-new", "deny write.deny"},
	{`[{"write":{"deny":["startup.lua"]}}]`, "write-file startup.lua.trapos-new.trapos-OLD", "deny write.deny"},
	{`[{"write":{"allow":["data/*.txt*"]}}]`, "write-file data/x.txt.trapos-old", "allow"},
	{`[{"write":{"allow":["*.trapos-old"]}}]`, "write-file x.trapos-old", "deny write.allow"},
	{`[{"read":{"deny":["k.txt"]}}]`, "read-file k.txt.trapos-part", "deny read.deny"},
	// What cannot be judged.
	{`[{"read":{"deny":["x"]}}]`, "read-file ../x", "deny read"},
	{`[{"read":{"deny":["x"]}}]`, "read-file a/.../x", "deny read"},
	{`[{"read":{"deny":["x"]}}]`, "read-file a*", "deny read"},
	{`[{"read":{"deny":["x"]}}]`, "read-file a:b", "deny read"},
	{`[{"read":{"deny":["x"]}}]`, "read-file " + strings.Repeat("n", 256), "deny read"},
	{`[{"read":{"deny":["x"]}}]`, "read-file " + strings.Repeat("n/", 600), "deny read"},
	// A folder with everything in it.
	{`[{"write":{"allow":["data/**"]}}]`, "delete-file data+", "allow"},
	{`[{"write":{"allow":["data/*"]}}]`, "delete-file data/x+", "deny write.allow"},
	{`[{"write":{"allow":["**/x"]}}]`, "delete-file x+", "deny write.allow"},
	{`[{"write":{"deny":["home/secret"]}}]`, "delete-file home+", "deny write.deny"},
	{`[{"write":{"deny":["home/secret"]}}]`, "delete-file home", "allow"},
	{`[{"write":{"deny":["home/*/key"]}}]`, "delete-file home/a/lock+", "allow"},
	{`[{"write":{"deny":["**/key"]}}]`, "delete-file any+", "deny write.deny"},
	{`[{"write":{"ask":["home/secret"]}}]`, "delete-file home+", "ask write.ask"},
	{`[{"write":{"allow":["home"],"ask":["home/secret"]}}]`, "delete-file home+", "deny write.allow"},
	{`[{"write":{"allow":[],"ask":["home"]}}]`, "delete-file home/x+", "ask write.ask"},
	{`[{"read":{"deny":["secret"]}}]`, "move-file secret open", "deny read.deny"},
	{`[{"write":{"allow":["a"]}}]`, "move-file a b", "deny write.allow"},
	// What can go around the paths has to be named.
	{`[{"write":{"deny":["startup"]}}]`, "exec-lua", "deny tools.allow"},
	{`[{"read":{"ask":["x"]},"tools":{"allow":["*"]}}]`, "send-keys", "deny tools.allow"},
	{`[{"read":{"allow":["**"]},"tools":{"allow":["*","exec-lua"]}}]`, "exec-lua", "allow"},
	{`[{"read":{"allow":["**"]},"tools":{"ask":["exec-lua"]}}]`, "exec-lua", "ask tools.ask"},
	{`[{"read":{"allow":["**"]},"tools":{"ask":["exec-*"]}}]`, "exec-lua", "deny tools.allow"},
	{`[{"read":{},"write":{"deny":[]}}]`, "exec-lua", "allow"},
}

func TestDecisions(t *testing.T) {
	for _, c := range decisions {
		v := sound(t, c.policy).Decide(request(c.call))
		if got := strings.TrimSpace(v.Outcome.String() + " " + v.Clause); got != c.want {
			t.Errorf("%s: %s: %s, want %s", c.policy, c.call, got, c.want)
		}
		if v.Outcome == Deny && (!strings.Contains(v.Message("t", "c"), "traposd.json:1:") || strings.Contains(v.Message("t", "c"), "\n")) {
			t.Errorf("%s: %s: %q", c.policy, c.call, v.Message("t", "c"))
		}
	}
}

// From 1.102 on, the mod strips the spaces around each name of a path: ` startup.lua` is `startup.lua` there.
func TestSpacesAroundNames(t *testing.T) {
	p := sound(t, `[{"write":{"deny":["startup.lua","a/x"]}}]`)
	for _, c := range []struct {
		path string
		want Outcome
	}{
		{" startup.lua", Deny},
		{"startup.lua ", Deny},
		{"./ startup.lua", Deny},
		{`b\..\ startup.lua`, Deny},
		{"a/ x", Deny},
		{" a/x", Deny},
		{"a b/c d", Allow},
	} {
		r := request("write-file")
		r.Write = []Path{{Name: c.path}}
		if got := p.Decide(r).Outcome; got != c.want {
			t.Errorf("%q: %v, want %v", c.path, got, c.want)
		}
	}
}

func TestVerdictNamesTheRule(t *testing.T) {
	p := sound(t, `[{"network":"work"}, {"maxRunSeconds":1.5,"tools":{"deny":["exec-lua"]}}]`)
	v := p.Decide(request("exec-lua"))
	if v.Rule != "traposd.json:1:22" || v.MaxRun != 1500*time.Millisecond || p.Rules() != 2 {
		t.Errorf("%+v", v)
	}
	if got, want := v.Message("exec-lua", "7:base"), "the policy at traposd.json:1:22 denies exec-lua on 7:base (tools.deny); to allow it, change that rule"; got != want {
		t.Errorf("%s", got)
	}
}

func TestShows(t *testing.T) {
	p := sound(t, `[{"label":"base","read":{"deny":["secret"],"ask":["log"]}}]`)
	base := Computer{Network: "home", TraposID: "7:base", Label: "base"}
	for name, want := range map[string]bool{"a": true, "log/x": true, "secret": false, "secret/x": false, "..": false} {
		if p.Shows(base, name) != want {
			t.Errorf("%s: not %v", name, want)
		}
	}
	if !p.Shows(Computer{Network: "home", TraposID: "8:"}, "secret") {
		t.Error("a rule about another computer hides a file")
	}
}

// Computers may send requests only where a rule says so, and what the rule says about tools holds for them too.
func TestRelay(t *testing.T) {
	hub := Computer{Network: "home", TraposID: "1:hub", Label: "hub"}
	for _, c := range []struct{ policy, call, want string }{
		{`[]`, "status", "deny relay"},
		{`[{}]`, "status", "deny relay"},
		{`[{"relay":[{"from":"hub"}]}]`, "status", "allow"},
		{`[{"relay":[{"from":["x","1:*"],"types":"stat*"}]}]`, "status", "allow"},
		{`[{"relay":[{"from":"*","types":["other"]}]}]`, "status", "deny relay"},
		{`[{"relay":[{"from":"hubs"}]}]`, "status", "deny relay"},
		{`[{"relay":[{"from":"hub"}]}]`, "exec-lua", "allow"},
		{`[{"relay":[{"from":"hub"}],"readOnly":true}]`, "exec-lua", "deny readOnly"},
		{`[{"relay":[{"from":"hub"}],"tools":{"ask":["exec-lua"]}}]`, "exec-lua", "deny tools.ask"},
		{`[{"relay":[{"from":"hub"}],"write":{"deny":["startup"]}}]`, "write-file startup/x", "deny write.deny"},
		{`[{"relay":[{"from":"hub"}],"tools":{"allow":[]}}]`, "status", "allow"},
	} {
		r := request(c.call)
		v := sound(t, c.policy).Relay(hub, r, c.call != "status")
		if got := strings.TrimSpace(v.Outcome.String() + " " + v.Clause); got != c.want {
			t.Errorf("%s: %s: %s, want %s", c.policy, c.call, got, c.want)
		}
	}
	broken, _ := parse(t, `[{"relay":[{"from":"hub"}],"x":1}]`)
	if v := broken.Relay(hub, request("status"), false); v.Outcome != Deny || v.Clause != "broken" {
		t.Errorf("%+v", v)
	}
	unread := Unread("traposd.json")
	if v := unread.Relay(hub, request("status"), false); v.Outcome != Deny {
		t.Errorf("%+v", v)
	}
}

// Each error has its place and field, and repeats nothing that was read.
func TestProblems(t *testing.T) {
	for _, c := range []struct{ policy, at, words string }{
		{`{}`, "{", "array of rules"},
		{`[` + strings.Repeat(`{},`, 257) + `]`, "[", "256 rules"},
		{`[{"label":[` + strings.Repeat(`"a",`, 257) + `]}]`, `["a"`, "256 patterns"},
		{`[{"read":{"deny":["` + strings.Repeat("a", 257) + `"]}}]`, `"a`, "256 bytes"},
		{`[7]`, "7", "must be an object"},
		{`[{"canary":1}]`, `"canary"`, "there are label, maxRunSeconds"},
		{`[{"readonly":true}]`, `"readonly"`, "readOnly"},
		{`[{"readOnly":"canary"}]`, `"canary"`, "true or false"},
		{`[{"readOnly":false,"readOnly":true}]`, `"readOnly":true`, "twice"},
		{`[{"network":[]}]`, `[]`, "leave it out"},
		{`[{"network":[""]}]`, `""`, "1 to 256"},
		{`[{"network":7}]`, `7`, "array of strings"},
		{`[{"tools":["x"]}]`, `["x"]`, "must be an object"},
		{`[{"tools":{"deny":"exec-lua"}}]`, `"exec-lua"`, "array of strings"},
		{`[{"tools":{"deny":["read-file","exec_lua"]}}]`, `"exec_lua"`, "no tool is called that"},
		{`[{"tools":{"allow":[{}]}}]`, `{}]`, "array of strings"},
		{`[{"write":{"allow":["a",""]}}]`, `""`, "empty"},
		{`[{"write":{"deny":["a/../b"]}}]`, `"a/../b"`, "dots alone"},
		{`[{"write":{"deny":["a/"]}}]`, `"a/"`, "FOLDER/**"},
		{`[{"write":{"deny":["a\\b"]}}]`, `"a\\b"`, "separated by /"},
		{`[{"write":{"deny":["a**"]}}]`, `"a**"`, "whole names"},
		{`[{"write":{"permit":["a"]}}]`, `"permit"`, "allow, ask, deny"},
		{`[{"maxRunSeconds":0}]`, `0`, "0.001 to 3600"},
		{`[{"maxRunSeconds":"canary"}]`, `"canary"`, "number"},
		{`[{"relay":{}}]`, `{}`, "array"},
		{`[{"relay":[{"types":["x"]}]}]`, `{"types"`, "needs from"},
		{`[{"relay":[7]}]`, `7`, "must be an object"},
		{`[{"relay":[{"from":"a","types":[]}]}]`, `[]}`, "leave it out"},
	} {
		p, problems := parse(t, c.policy)
		if !p.Doubtful() || len(problems) == 0 || problems[0].Offset != strings.LastIndex(c.policy, c.at) || !strings.Contains(problems[0].Message, c.words) ||
			!strings.HasPrefix(problems[0].Field, "policy") || strings.Contains(fmt.Sprint(problems), "canary") {
			t.Errorf("%s: %+v", c.policy, problems)
		}
		if v := p.Decide(request("computer-info")); v.Outcome != Deny || !strings.Contains(v.Message("t", "c"), "traposd check") {
			t.Errorf("%s: %+v", c.policy, v)
		}
	}
}

// What is broken closes what it may be about, and nothing before it.
func TestDoubtfulPolicy(t *testing.T) {
	base, other := request("exec-lua"), request("exec-lua")
	other.Computer = Computer{Network: "work", TraposID: "8:"}
	for text, want := range map[string]string{
		`[{"network":"home"},{"tools":7}]`:                                   "allow deny",
		`[{"network":"work","tools":7}]`:                                     "allow deny",
		`[{"network":["work",7]}]`:                                           "deny deny",
		`[{"network":"work","network":"home"}]`:                              "deny deny",
		`[{"network":"work","net":1},{"readOnly":true}]`:                     "deny deny",
		`[{"network":"work"},{"network":"home","write":{"allow":["a\\b"]}}]`: "deny allow",
	} {
		p, _ := parse(t, text)
		if got := p.Decide(base).Outcome.String() + " " + p.Decide(other).Outcome.String(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	unread := Unread("traposd.json")
	if v := unread.Decide(base); v.Outcome != Deny || !unread.Doubtful() || unread.Shows(base.Computer, "a") ||
		!strings.Contains(v.Message("exec-lua", "7:base"), "could not be read") {
		t.Errorf("%+v", v)
	}
}

// A call is held against every rule and pattern: what the largest policy costs.
func BenchmarkDecide(b *testing.B) {
	rule := `{"label":"x*y*z","tools":{"allow":["read-*"]}},`
	patterns := strings.Repeat(`"**/*a*/**/b",`, maxPatterns)
	for name, text := range map[string]string{
		"small":   `[{"network":"home","write":{"deny":["startup","**/*.key"],"allow":["data/**"]}}]`,
		"largest": `[` + strings.Repeat(rule, maxRules-1) + `{"write":{"deny":[` + patterns + `],"ask":[` + patterns + `]}}]`,
	} {
		p, r := sound(b, text), request("write-file data/"+strings.Repeat("a/", 20)+"x")
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p.Decide(r)
			}
		})
	}
}
