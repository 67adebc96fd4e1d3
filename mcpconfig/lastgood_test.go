package mcpconfig

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// reload loads text with the Set before as the last good one.
func (b *bed) reload(before Set, text string) (Set, Problems) {
	b.t.Helper()
	b.options.LastGood = &before
	defer func() { b.options.LastGood = nil }()
	return b.load(text)
}

const twoServers = `{"mcpServers":{"a":{"command":"one"},"b":{"command":"two","env":{"A":"${T}"}}}}`

func TestBrokenFileKeepsItsServers(t *testing.T) {
	b := newBed(t)
	b.write(b.globFile, entries(`"g":{"command":"global"}`))
	good, problems := b.load(twoServers)
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	for _, broken := range []string{"", twoServers[:20], "[]", `{"mcpservers":{}}`, "\xff", "<<<<<<< HEAD\n"} {
		kept, problems := b.reload(good, broken)
		if len(problems) != 1 || !problems[0].KeptLastGood || !problems[0].WholeFile() {
			t.Fatal(problems)
		}
		mustHave(t, problems[0].String(), "last good")
		if !kept.Equal(good) || !kept.Diff(good).Empty() || len(kept.Diff(good).Unchanged) != 3 {
			t.Fatal(kept.Servers())
		}
		status := kept.Sources()[0]
		if status.OK || status.Error == nil || !status.Exists || !kept.Sources()[1].OK {
			t.Fatal(status)
		}
		if !kept.All()[0].LastGood || kept.All()[2].LastGood {
			t.Fatal("which ones are kept is not marked")
		}
		// Broken a second time, and the global file changed meanwhile: the kept ones stay, the other file goes on.
		b.write(b.globFile, entries(`"h":{"command":"global"}`))
		again, _ := b.reload(kept, broken+"]")
		if got := names(again.Servers()); !slices.Equal(got, []string{"a", "b", "h"}) {
			t.Fatal(got)
		}
		b.write(b.globFile, entries(`"g":{"command":"global"}`))
		mended, problems := b.reload(again, twoServers)
		if len(problems) != 0 || mended.All()[0].LastGood || !mended.Equal(good) || !mended.Sources()[0].OK {
			t.Fatal(problems)
		}
	}
}

func TestBrokenFileAtFirstStartIsOff(t *testing.T) {
	b := newBed(t)
	empty, _ := Load(b.options)
	for _, last := range []Set{{}, empty} {
		set, problems := b.reload(last, "{")
		if len(set.All()) != 0 || len(problems) != 1 || problems[0].KeptLastGood {
			t.Fatal(set, problems)
		}
	}
}

func TestBrokenEntryKeepsItself(t *testing.T) {
	b := newBed(t)
	good, _ := b.load(twoServers)
	for _, broken := range []string{
		`"a":{"command":["x"]}`, `"a":null`, `"a":{"command":"x","env":{"A":"${Y}"}}`, `"a":{"command":"x"},"a":{"command":"y"}`,
		`"a":{"command":"x","disabled":"yes"}`, `"a":{"command":"x","envFile":"missing"}`,
	} {
		kept, problems := b.reload(good, entries(broken+`,"b":{"command":"changed"},"c":{}`))
		if len(problems) != 2 || !problems[0].KeptLastGood || problems[1].KeptLastGood || problems[1].Server != "c" {
			t.Fatal(broken, problems)
		}
		if s, _ := kept.Lookup("a"); s.Command.Reveal() != "one" || !s.LastGood || !s.Runnable() {
			t.Fatal(broken, s)
		}
		diff := kept.Diff(good)
		if !slices.Equal(names(diff.Changed), []string{"b"}) || !slices.Equal(names(diff.Unchanged), []string{"a"}) || len(diff.Added)+len(diff.Removed) != 0 {
			t.Fatal(broken, diff)
		}
		// Broken on: the version is still the one from the beginning.
		again, _ := b.reload(kept, entries(`"a":3`))
		if s, _ := again.Lookup("a"); s.Command.Reveal() != "one" {
			t.Fatal(s)
		}
	}
	off, problems := b.reload(good, entries(`"a":{"command":["x"],"disabled":true}`))
	if len(off.Servers()) != 0 || problems.Errors() {
		t.Fatal("an entry that is switched off must go off, broken or not:", problems)
	}
	gone, problems := b.reload(good, `{"mcpServers":{}}`)
	if len(gone.All()) != 0 || len(problems) != 0 {
		t.Fatal("what was removed on purpose must go:", gone)
	}
	if err := os.Remove(b.workspaceFile); err != nil {
		t.Fatal(err)
	}
	b.options.LastGood = &good
	if gone, problems = Load(b.options); len(gone.All()) != 0 || len(problems) != 0 {
		t.Fatal("a removed file's servers must go:", gone)
	}
}

func TestLastGoodBelongsToItsFile(t *testing.T) {
	b := newBed(t)
	good, _ := b.load(twoServers)
	b.options.Workspaces = []string{b.home}
	b.write(filepath.Join(b.home, WorkspaceFile), entries(`"a":{}`))
	b.options.LastGood = &good
	set, problems := Load(b.options)
	if len(set.Servers()) != 0 || problems[0].KeptLastGood {
		t.Fatal("another workspace's version came to life:", set.Servers())
	}
}

func TestKeptEnvFileStaysWatched(t *testing.T) {
	b := newBed(t)
	file := filepath.Join(b.root, "env")
	b.write(file, "A=1\n")
	good, problems := b.load(fields(`"command":"x","envFile":"env"`))
	if len(problems) != 0 || !slices.Contains(good.WatchPaths(), file) {
		t.Fatal(problems, good.WatchPaths())
	}
	for _, broken := range []string{fields(`"command":3`), "{"} {
		if kept, _ := b.reload(good, broken); !slices.Contains(kept.WatchPaths(), file) {
			t.Fatal(kept.WatchPaths())
		}
	}
}
