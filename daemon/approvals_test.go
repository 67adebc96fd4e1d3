package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/traposd/traposd/mcp/upstream"
	"github.com/traposd/traposd/mcpconfig"
)

// gateBed is a gate before the servers of one workspace that asks for approval.
type gateBed struct {
	t        *testing.T
	root     string
	set      mcpconfig.Set
	gate     gate
	asks     bool
	approved map[string]bool
	run      []mcpconfig.Server
	pending  []Pending
}

func newGateBed(t *testing.T) *gateBed {
	t.Helper()
	return &gateBed{t: t, root: t.TempDir(), asks: true, approved: map[string]bool{}}
}

// edit saves the file and returns what runs, as NAME=first argument, and what waits.
func (b *gateBed) edit(text string) (run, waits string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.root, ".mcp.json"), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	last := b.set
	b.set, _ = mcpconfig.Load(mcpconfig.Options{Workspaces: []string{b.root}, HomeDir: b.root, LastGood: &last})
	return b.look()
}

func (b *gateBed) look() (run, waits string) {
	b.run, b.pending = b.gate.admit(b.set.Servers(), map[string]bool{b.root: b.asks}, b.approved)
	var r, w []string
	for _, s := range b.run {
		r = append(r, s.Name+"="+s.Args[0].Reveal())
	}
	for _, p := range b.pending {
		w = append(w, p.Name)
	}
	return strings.Join(r, " "), strings.Join(w, " ")
}

func (b *gateBed) approve() {
	for _, p := range b.pending {
		b.approved[p.Hash] = true
	}
}

func entry(name, argument string) string {
	return `"` + name + `":{"command":"x","args":["` + argument + `"]}`
}

func file(entries ...string) string { return `{"mcpServers":{` + strings.Join(entries, ",") + `}}` }

func TestGate(t *testing.T) {
	b := newGateBed(t)
	step := func(what, gotRun, gotWaits, wantRun, wantWaits string) {
		t.Helper()
		if gotRun != wantRun || gotWaits != wantWaits {
			t.Errorf("%s: runs %q, waits %q; want %q and %q", what, gotRun, gotWaits, wantRun, wantWaits)
		}
	}
	run, waits := b.edit(file(entry("a", "1"), entry("b", "1")))
	step("new entries", run, waits, "", "a b")
	b.approve()
	run, waits = b.look()
	step("approved", run, waits, "a=1 b=1", "")
	run, waits = b.edit(file(entry("a", "2"), entry("b", "1")))
	step("a changed one", run, waits, "a=1 b=1", "a")
	if !b.pending[0].Changed || b.pending[0].Running {
		t.Errorf("%+v", b.pending[0])
	}
	// Broken after an edit that was never approved: the last good version of the file is not the approved one.
	run, waits = b.edit(`{"mcpServers":{`)
	step("a broken file", run, waits, "a=1 b=1", "")
	run, waits = b.edit(file(`"a":{"command":["x"]}`, entry("b", "1")))
	step("a broken entry", run, waits, "a=1 b=1", "")
	run, waits = b.edit(file(entry("a", "1"), entry("b", "1")))
	step("back again", run, waits, "a=1 b=1", "")
	// The name is not what is approved, and neither is the place in the file.
	run, waits = b.edit(file(entry("c", "1"), entry("a", "1")))
	step("another name", run, waits, "a=1", "c")
	run, waits = b.edit(file())
	step("nothing", run, waits, "", "")
	run, waits = b.edit(file(entry("a", "2")))
	step("what was refused before, with nothing running", run, waits, "", "a")
}

// A workspace that is trusted and then asks: what runs goes on, and says why it waits.
func TestGateOfAWorkspaceThatBeginsToAsk(t *testing.T) {
	b := newGateBed(t)
	b.asks = false
	if run, waits := b.edit(file(entry("a", "1"))); run != "a=1" || waits != "" {
		t.Fatalf("%q %q", run, waits)
	}
	b.asks = true
	if run, waits := b.look(); run != "a=1" || waits != "a" || b.pending[0].Changed || !b.pending[0].Running {
		t.Errorf("%q %q %+v", run, waits, b.pending)
	}
	if run, waits := b.edit(file(entry("a", "2"))); run != "a=1" || waits != "a" || !b.pending[0].Changed {
		t.Errorf("%q %q %+v", run, waits, b.pending)
	}
}

// Two entries on one line are told apart.
func TestOnlyWhatWaitsSeemsToWait(t *testing.T) {
	b := newGateBed(t)
	b.edit(file(entry("a", "1"), entry("b", "1")))
	b.approved[b.pending[0].Hash] = true
	b.look()
	report := serversReport(loaded{set: b.set, run: b.run, pending: b.pending}, []upstream.Status{
		{ID: b.run[0].ID(), Name: "a", State: upstream.StateReady},
	})
	if a, b := report.Servers[0], report.Servers[1]; a.State != "ready" || a.Note != "" || b.State != "pending" || !strings.Contains(b.Note, "traposd approve b") {
		t.Errorf("%+v", report.Servers)
	}
}

func TestChoose(t *testing.T) {
	pending := []Pending{
		{Name: "a", Hash: "aa11"}, {Name: "a", Hash: "aa22"}, {Name: "b@x", Hash: "bb"}, {Name: "c", Hash: "cc33"},
	}
	for name, want := range map[string]string{
		"": "aa11 aa22 bb cc33", "c": "cc33", "c@cc": "cc33", "a@aa2": "aa22", "b@x": "bb",
		"a": "!which", "a@aa": "!which", "c@dd": "!changed", "nobody": "!no entry",
	} {
		chosen, err := choose(pending, name)
		var got []string
		for _, p := range chosen {
			got = append(got, p.Hash)
		}
		if words, refused := strings.CutPrefix(want, "!"); refused {
			if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), words) {
				t.Errorf("%q: %v", name, err)
			}
		} else if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %q %v", name, got, err)
		}
	}
	if _, err := choose(nil, ""); !errors.Is(err, ErrUsage) {
		t.Errorf("nothing pending: %v", err)
	}
}

// The state files survive what is wrong with them: they are reported, and never written over.
func TestStateFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := approve(dir, []Pending{{Name: "a", Hash: "h1"}}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := approve(dir, []Pending{{Name: "b", Hash: "h2"}}, time.Now()); err != nil {
		t.Fatal(err)
	}
	all, err := readApprovals(dir)
	if err != nil || len(all) != 2 || all[0].Hash != "h1" || all[1].Hash != "h2" {
		t.Errorf("%v %v", all, err)
	}
	info, err := os.Stat(approvalsPath(dir))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	for _, text := range []string{"", "{", `{"version":2,"approved":[]}`, `{"version":1,"approved":[],"later":1}`} {
		if err := os.WriteFile(approvalsPath(dir), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := approve(dir, []Pending{{Name: "a", Hash: "h1"}}, time.Now()); err == nil || !strings.Contains(err.Error(), "approvals.json") {
			t.Errorf("%q: %v", text, err)
		}
		if data, err := os.ReadFile(approvalsPath(dir)); err != nil || string(data) != text {
			t.Errorf("%q was written over: %q %v", text, data, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("something was left behind: %v %v", entries, err)
	}
}
