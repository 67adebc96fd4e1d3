package computertools

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/traposd/traposd/gateway"
)

// replying is a registry with one computer that gives one answer and keeps what it was asked.
func replying(asked *map[string]any, answer string) registry {
	return registry{
		computers: []gateway.Computer{{NetworkID: "n", TraposID: "1:", ComputerID: 1}},
		answer: func(_ context.Context, _, _, _ string, payload json.RawMessage) (json.RawMessage, error) {
			*asked = nil
			if err := json.Unmarshal(payload, asked); err != nil {
				return nil, err
			}
			return json.RawMessage(answer), nil
		},
	}
}

const sumOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

var refusalOfX = `{"ok":false,"kind":"not_found","errorBase64":"` + b64("/x does not exist") + `"}`

// companions are calls: what is sent, what comes back, and what a model reads.
var companions = []struct{ tool, arguments, payload, answer, structured, text string }{
	{
		"read-file", `{"computer":"1","path":"a/b"}`, `{"path":"a/b","offset":0,"length":65536}`,
		`{"ok":true,"path":"a/b","dataBase64":"` + b64("hé\n") + `","size":4,"offset":0,"truncated":false}`,
		`{"ok":true,"path":"a/b","content":"hé\n","size":4,"bytes":4,"sha256":"83a4652c785a15ae6ece8b56f6191092984ffc6efac8d6b828646d9df79a0e6e"}`, "hé\n",
	},
	{
		"read-file", `{"computer":"1","path":"é","offset":2,"length":3}`, `{"pathBase64":"` + b64("é") + `","offset":2,"length":3}`,
		`{"ok":true,"pathBase64":"` + b64("é") + `","dataBase64":"` + b64("a\xff\n") + `","size":9,"offset":2,"truncated":true}`,
		`{"ok":true,"path":"é","contentBase64":"` + b64("a\xff\n") + `","size":9,"offset":2,"bytes":3,"truncated":true}`,
		b64("a\xff\n") + "\n[base64, 3 bytes from offset 2 of 9]",
	},
	{
		"read-file", `{"computer":"1","path":"a","encoding":"text"}`, `{"path":"a","offset":0,"length":65536}`,
		`{"ok":true,"path":"a","dataBase64":"` + b64("\xff") + `","size":1,"offset":0}`,
		`{"ok":true,"path":"a","content":"ÿ","size":1,"bytes":1,"sha256":"a8100ae6aa1940d0b663bb31cd466142ebbdbd5187131b92d93818987832eb89"}`, "ÿ",
	},
	{
		"read-file", `{"computer":"1","path":"a","encoding":"base64"}`, `{"path":"a","offset":0,"length":65536}`,
		`{"ok":true,"path":"a","dataBase64":"","size":0,"offset":0}`, `{"ok":true,"path":"a","contentBase64":"","sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}`, "\n[base64, nothing to read]",
	},
	{"read-file", `{"computer":"1","path":"x"}`, ``, refusalOfX, `{"ok":false,"error":{"kind":"not_found","message":"/x does not exist"}}`, "[not_found] /x does not exist"},
	{
		"list-files", `{"computer":"1"}`, `{"recursive":false,"limit":500}`,
		`{"ok":true,"entries":[{"path":"d","directory":true,"size":0,"readOnly":false},{"pathBase64":"` + b64("é") + `","directory":false,"size":3,"readOnly":true}],"truncated":false,"free":7,"capacity":9}`,
		`{"ok":true,"entries":[{"path":"d","directory":true,"size":0},{"path":"é","size":3,"readOnly":true}],"free":7,"capacity":9}`,
		"d/\né  3\n[2 entries; 7 bytes free]",
	},
	{
		"list-files", `{"computer":"1","path":"/t/","glob":"**/*.lua","limit":1}`, `{"path":"/t/","recursive":true,"limit":2000}`,
		`{"ok":true,"entries":[{"path":"t/a.txt","size":1},{"path":"t/b.lua","size":1},{"path":"t/s/c.lua","size":2}],"truncated":false}`,
		`{"ok":true,"entries":[{"path":"t/b.lua","size":1}],"truncated":true}`, "t/b.lua  1\n[1 entries, and more]",
	},
	{"list-files", `{"computer":"1","path":"x"}`, ``, refusalOfX, `{"ok":false,"entries":[],"error":{"kind":"not_found","message":"/x does not exist"}}`, "[not_found] /x does not exist"},
	{
		"write-file", `{"computer":"1","path":"a","content":"x","expectedSha256":"` + strings.ToUpper(sumOfNothing) + `"}`,
		`{"path":"a","dataBase64":"eA==","mode":"write","expectedSha256":"` + sumOfNothing + `"}`, `{"ok":true,"path":"a","bytes":1,"existed":true}`,
		`{"ok":true,"path":"a","bytes":1,"existed":true,"sha256":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}`, "a written, 1 bytes",
	},
	{
		"write-file", `{"computer":"1","path":"a","content":"x","mode":"append"}`, `{"path":"a","dataBase64":"eA==","mode":"append"}`,
		`{"ok":true,"path":"a","bytes":1}`, `{"ok":true,"path":"a","bytes":1}`, "a created, 1 bytes",
	},
	{
		"delete-file", `{"computer":"1","path":"d","recursive":true}`, `{"path":"d","recursive":true}`, `{"ok":true,"path":"d","directory":true}`,
		`{"ok":true,"path":"d","directory":true}`, "d deleted",
	},
	{
		"move-file", `{"computer":"1","from":"a","to":"é","replace":true}`, `{"from":"a","toBase64":"` + b64("é") + `","replace":true}`,
		`{"ok":true,"from":"a","toBase64":"` + b64("é") + `","replaced":true}`, `{"ok":true,"from":"a","to":"é","replaced":true}`, "a moved to é",
	},
	{
		"edit-file", `{"computer":"1","path":"a","old":"é","new":"","count":2}`, `{"path":"a","oldBase64":"` + b64("é") + `","newBase64":"","count":2}`,
		`{"ok":true,"path":"a","bytes":10,"replaced":2}`, `{"ok":true,"path":"a","bytes":10,"replaced":2}`, "a: 2 replaced, 10 bytes now",
	},
	{
		"edit-file", `{"computer":"1","path":"a","old":"x","new":"y"}`, `{"path":"a","oldBase64":"` + b64("x") + `","newBase64":"` + b64("y") + `","count":1}`,
		`{"ok":false,"kind":"mismatch","errorBase64":"` + b64("twice") + `"}`, `{"ok":false,"error":{"kind":"mismatch","message":"twice"}}`, "[mismatch] twice",
	},
	{
		"send-keys", `{"computer":"1","text":"é\r\n","keys":["up","leftCtrl+a"]}`, `{"textBase64":"` + b64("\xe9\n") + `","keys":["up","leftCtrl+a"]}`,
		`{"ok":true,"typed":4}`, `{"ok":true,"typed":4}`, "4 characters and keys typed",
	},
	{"send-keys", `{"computer":"1","keys":["up"]}`, `{"textBase64":"","keys":["up"]}`, `{"ok":true,"typed":1}`, `{"ok":true,"typed":1}`, "1 characters and keys typed"},
	{
		"send-event", `{"computer":"1","event":"mine","arguments":[1,"x",{"a":[true]}]}`, `{"event":"mine","arguments":[1,"x",{"a":[true]}]}`,
		`{"ok":true}`, `{"ok":true}`, "the event was queued",
	},
	{
		"computer-info", `{"computer":"1"}`, `{}`,
		`{"ok":true,"id":1,"labelBase64":"` + b64("ä:b") + `","type":"turtle","advanced":true,"host":"CC","uptime":1.5,"width":39,"height":13,"free":10,"capacity":20,
		"peripherals":[{"name":"left","types":["modem","x"]}],"position":{"x":1,"y":-2.5,"z":3},"turtle":{"fuel":5,"fuelLimit":100,"unlimitedFuel":false,"selectedSlot":1,"inventory":[{"slot":2,"name":"minecraft:coal","count":3}]}}`,
		`{"ok":true,"info":{"id":1,"label":"ä:b","type":"turtle","advanced":true,"host":"CC","uptime":1.5,"width":39,"height":13,"free":10,"capacity":20,
		"peripherals":[{"name":"left","types":["modem","x"]}],"position":{"x":1,"y":-2.5,"z":3},"turtle":{"fuel":5,"fuelLimit":100,"selectedSlot":1,"inventory":[{"slot":2,"name":"minecraft:coal","count":3}]}}}`,
		"turtle 1 \"ä:b\", CC, up 2 s, screen 39 by 13\ndisk: 10 of 20 bytes free\nperipheral left: modem, x\nposition: 1, -2.5, 3\nfuel: 5\nslot 2: 3 × minecraft:coal",
	},
	{
		"reboot-computer", `{"computer":"1","waitSeconds":0}`, `{}`, `{"ok":true}`, `{"ok":true}`, "it reboots, and was not back yet",
	},
}

func TestCompanions(t *testing.T) {
	for _, c := range companions {
		var asked map[string]any
		result, structured := call(t, replying(&asked, c.answer), c.tool, c.arguments)
		if result.IsError || text(result) != c.text {
			t.Errorf("%s %s: text %q, want %q", c.tool, c.arguments, text(result), c.text)
		}
		sameJSON(t, c.tool+" answers", structured, c.structured)
		if c.payload != "" {
			sameJSON(t, c.tool+" asks", asked, c.payload)
		}
	}
}

func sameJSON(t *testing.T, what string, got map[string]any, want string) {
	t.Helper()
	var wanted map[string]any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	a, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(wanted)
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Errorf("%s\n %s, want\n %s", what, a, b)
	}
}

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		pattern, separator string
		fits, not          string
	}{
		{"*", "", "1:a/b 7: x", ""},
		{"?:*", "", "1:a 2:", "10:a"},
		{"*.lua", "/", "a.lua .lua", "d/a.lua a.luax"},
		{"**/*.lua", "/", "a.lua d/a.lua d/e/a.lua", "a.txt d/a.lua/b"},
		{"d/**", "/", "d/a d/b/c", "d e/d/a"},
		{"a.(b)[c]$", "/", "a.(b)[c]$", "ax(b)[c]$"},
		{"d/?", "/", "d/a", "d/ d//"},
	} {
		glob, err := globOf(c.pattern, c.separator)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for _, name := range strings.Fields(c.fits) {
			if !glob.MatchString(name) {
				t.Errorf("%s does not fit %s", c.pattern, name)
			}
		}
		for _, name := range strings.Fields(c.not) {
			if glob.MatchString(name) {
				t.Errorf("%s fits %s", c.pattern, name)
			}
		}
	}
	if _, err := globOf("a\xff", ""); err == nil {
		t.Error("a pattern that is no text is taken")
	}
}

// The hints tell a client what it may do without asking (issue of every tool: is it read-only, destructive, idempotent).
func TestAnnotations(t *testing.T) {
	want := map[string]string{
		"probe-computers": "reads idempotent",
		"computer-info":   "reads idempotent",
		"list-files":      "reads idempotent",
		"read-file":       "reads idempotent",
		"read-screen":     "reads idempotent",
		"delete-file":     "destroys idempotent", // a second one finds nothing left to delete
		"write-file":      "destroys",            // it may append
		"edit-file":       "destroys",
		"move-file":       "destroys",
		"reboot-computer": "destroys",
		"exec-lua":        "destroys open",
		"send-keys":       "destroys open",
		"send-event":      "destroys open",
	}
	for _, d := range New(registry{}, Options{}).Entry().Tools {
		var tool sdk.Tool
		if err := json.Unmarshal(d.Raw, &tool); err != nil {
			t.Fatal(err)
		}
		a := tool.Annotations
		if a.DestructiveHint == nil || a.OpenWorldHint == nil {
			t.Fatalf("%s leaves hints to their defaults: %+v", d.Name, a)
		}
		var got []string
		for _, hint := range []struct {
			name string
			set  bool
		}{{"reads", a.ReadOnlyHint}, {"destroys", *a.DestructiveHint}, {"idempotent", a.IdempotentHint}, {"open", *a.OpenWorldHint}} {
			if hint.set {
				got = append(got, hint.name)
			}
		}
		if strings.Join(got, " ") != want[d.Name] {
			t.Errorf("%s: %v, want %s", d.Name, got, want[d.Name])
		}
	}
}

// A reboot is over when a newer connection serves again.
func TestRebootWaitsForTheReturn(t *testing.T) {
	first := time.Now()
	r := &rebooting{states: []gateway.Computer{
		{NetworkID: "n", TraposID: "1:", ConnectedAt: first, Serves: []string{"exec-lua"}},
		{NetworkID: "n", TraposID: "1:", ConnectedAt: first, Serves: []string{"exec-lua"}},
		{NetworkID: "n", TraposID: "1:", ConnectedAt: first.Add(time.Second)},
		{NetworkID: "n", TraposID: "1:", ConnectedAt: first.Add(time.Second), Serves: []string{"exec-lua"}},
	}}
	result, s := call(t, r, "reboot-computer", `{"computer":"1:","waitSeconds":60}`)
	if result.IsError || s["ok"] != true || s["back"] != true || text(result) != "rebooted, and connected again" {
		t.Errorf("%v %q", s, text(result))
	}
}

// rebooting is a computer whose state moves on with every look at it.
type rebooting struct {
	registry
	states []gateway.Computer
	looks  int
}

func (r *rebooting) Lookup(string, string) (gateway.Computer, error) {
	state := r.states[min(r.looks, len(r.states)-1)]
	r.looks++
	return state, nil
}

func (r *rebooting) Request(context.Context, string, string, string, json.RawMessage) (json.RawMessage, error) {
	return json.RawMessage(`{"ok":true}`), nil
}
