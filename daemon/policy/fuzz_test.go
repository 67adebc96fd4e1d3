package policy

import (
	"strings"
	"testing"

	"github.com/tailscale/hujson"
)

// Whatever a policy says: it has problems and is doubtful, or neither; and what it denies for a path it denies for every other
// spelling of it.
func FuzzPolicy(f *testing.F) {
	for _, seed := range [][2]string{
		{`[{"write":{"allow":["data/**"],"deny":["data/x"]}}]`, "data/X"},
		{`[{"network":"h*","read":{"deny":["**/*.key"],"ask":["a?"]},"tools":{"allow":["*"]}}]`, `\a\..\B.key`},
		{`[{"relay":[{"from":"*","types":["x"]}],"maxRunSeconds":2,"readOnly":true}]`, ""},
		{`[{"write":{"deny":["é"]}},7]`, "\xe9"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		v, err := hujson.Parse([]byte(text))
		if err != nil {
			return
		}
		p, problems := Parse(v, Options{At: func(int) string { return "f:1:1" }, Tools: tools})
		if p.Doubtful() != (len(problems) > 0) {
			t.Fatalf("%d problems, doubtful %v", len(problems), p.Doubtful())
		}
		decide := func(name string, below bool) Outcome {
			r := request("write-file")
			r.Write = []Path{{Name: name, Below: below}}
			return p.Decide(r).Outcome
		}
		point := decide(name, false)
		if whole := decide(name, true); whole < point {
			t.Errorf("%q: %v, with everything below it %v", name, point, whole)
		}
		if point != Deny {
			return
		}
		for _, other := range []string{"/" + name, "./" + name, "x/../" + name, strings.ReplaceAll(name, "/", `\`), name + "/"} {
			if len(other) <= maxPath && decide(other, false) != Deny {
				t.Errorf("%q is denied, %q is not", name, other)
			}
		}
	})
}
