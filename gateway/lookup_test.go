package gateway

import "testing"

func TestLookup(t *testing.T) {
	b := newBed(t, Options{})
	b.join(12, "miner")
	registry := b.g.Registry()
	for _, name := range []string{"12:miner", "12"} {
		if c, err := registry.Lookup("", name); err != nil || c.TraposID != "12:miner" || c.NetworkID != "default" {
			t.Errorf("%s: %+v %v", name, c, err)
		}
	}
	for name, code := range map[string]Code{"13": CodeUnknownComputer, "12:other": CodeUnknownComputer, "miner": CodeBadRequest} {
		_, err := registry.Lookup("", name)
		wantCode(t, err, code)
	}
}
