package daemon

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/traposd/traposd/daemon/policy"
)

// A computer is asked where thousands of paths lead; none that leads to what is denied, or away from what is allowed, is let
// through.
func TestPathsAsAComputerUnderstandsThem(t *testing.T) {
	w := startWorld(t, ComputerOptions{ID: 3, Label: "base"})
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"secret", "open", "x", "..", ".", "...", "/", "/", "/", `\`, " ", "*", "?", ":", ".trapos-new", "\x01", "S"}
	paths := make([]string, 4000)
	for i := range paths {
		for range 1 + random.IntN(9) {
			paths[i] += parts[random.IntN(len(parts))]
		}
	}
	list, err := json.Marshal(paths)
	if err != nil {
		t.Fatal(err)
	}
	got := w.done("exec-lua", map[string]any{"computer": "3", "timeoutMs": 120_000, "code": `
		local out = {}
		for i, path in ipairs(textutils.unserialiseJSON([==[` + string(list) + `]==])) do
			out[i] = fs.combine(path, "")
			if i % 200 == 0 then sleep(0) end
		end
		return table.concat(out, "\n")`})
	cleaned := strings.Split(got["returns"].([]any)[0].(map[string]any)["value"].(string), "\n")
	if len(cleaned) != len(paths) {
		t.Fatalf("%d of %d paths came back", len(cleaned), len(paths))
	}
	w.own(`{"policy": [{"label": "base", "write": {"deny": ["secret"]}, "read": {"allow": ["open/**"]}}]}`)
	rules, let := w.policy.Load(), 0
	for i, path := range paths {
		r := policy.Request{Computer: policy.Computer{Network: "default", TraposID: "3:base", Label: "base"}, Tool: "read-file", Read: []policy.Path{{Name: path}}}
		reads := rules.Decide(r).Outcome == policy.Allow
		r.Read, r.Write = nil, r.Read
		writes := rules.Decide(r).Outcome == policy.Allow
		within := func(folder string) bool { return cleaned[i] == folder || strings.HasPrefix(cleaned[i], folder+"/") }
		if reads && !within("open") || writes && (within("secret") || within("..")) {
			t.Errorf("%q leads to %q, and is let through: read %v, write %v", path, cleaned[i], reads, writes)
		}
		if reads {
			let++
		}
	}
	if let < 20 {
		t.Errorf("only %d paths are let through, which says little", let)
	}
}
