package mcpconfig

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// secretFile puts a file with that mode below the workspace's root.
func (b *bed) secretFile(name, text string, mode os.FileMode) string {
	b.t.Helper()
	path := filepath.Join(b.root, name)
	b.write(path, text)
	if err := os.Chmod(path, mode); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func TestFileReferences(t *testing.T) {
	b := newBed(t)
	path := b.secretFile("token", " s3cret\n", 0o600)
	other := filepath.Join(b.home, "other")
	b.write(other, "theirs")
	if err := os.Chmod(other, 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"${file:token}":                    "s3cret",
		"Bearer ${file: " + path + " }":    "Bearer s3cret",
		"${file:~/other}":                  "theirs",
		"${file:${workspaceFolder}/token}": "s3cret",
		"${file:${Y:-token}}":              "s3cret",
		"${file:missing:-${T}}":            "tok",
		"${file:token:-x}":                 "s3cret",
	} {
		s, problems := b.one(fields(`"type":"http","url":"https://a.example/","headers":{"K":"` + filepath.ToSlash(text) + `"}`))
		if len(problems) != 0 || s.Headers[0].Value.Reveal() != want {
			t.Errorf("%s: %v, %d headers", text, problems, len(s.Headers))
		}
	}
	entry := func(value string) string { return `{"command":"x","env":{"K":"` + value + `"}}` }
	mustSay(t, b.bad(entry("${file:missing}")), "env.K", "there is no such file")
	mustSay(t, b.bad(entry("${file:}")), "env.K", "names no file")
	mustSay(t, b.bad(entry("${file:.}")), "env.K", "not a regular file")
	b.secretFile("large", string(make([]byte, maxReferenceBytes+1)), 0o600)
	mustSay(t, b.bad(entry("${file:large}")), "env.K", "too large")
	if runtime.GOOS != "windows" {
		b.secretFile("open", "x", 0o640)
		mustSay(t, b.bad(entry("${file:open}")), "env.K", "chmod 600")
		mustSay(t, b.bad(entry("${file:open:-default}")), "env.K", "chmod 600")
	}
	if shown := Check([]string{b.workspaceFile}, b.options).Sources[0].Servers[0].Command; shown != "" {
		t.Error(shown)
	}
}

// A changed secret changes what refers to it, and nothing else.
func TestAChangedReferenceChangesItsServers(t *testing.T) {
	b := newBed(t)
	path := b.secretFile("token", "one", 0o600)
	before, problems := b.load(entries(`"a":{"command":"x","env":{"K":"${file:token}"}},"b":{"command":"x"}`))
	if len(problems) != 0 || !slices.Contains(before.WatchPaths(), path) {
		t.Fatal(problems, before.WatchPaths())
	}
	b.secretFile("token", "one\n", 0o600)
	if same, _ := Load(b.options); !same.Equal(before) {
		t.Error("the end of a line changes a secret")
	}
	b.secretFile("token", "two", 0o600)
	after, _ := Load(b.options)
	if changed := after.Diff(before).Changed; len(changed) != 1 || changed[0].Name != "a" {
		t.Error(changed)
	}
	if a, _ := before.Servers()[0], after; a.ApprovalHash() != after.Servers()[0].ApprovalHash() {
		t.Error("a changed secret wants another approval")
	}
	for _, broken := range []string{fields(`"command":3`), "{"} {
		if kept, _ := b.reload(after, broken); !slices.Contains(kept.WatchPaths(), path) {
			t.Error(kept.WatchPaths())
		}
	}
	gone, problems := b.load(fields(`"command":"x","env":{"K":"${file:later}"}`))
	if len(problems) != 1 || !slices.Contains(gone.WatchPaths(), filepath.Join(b.root, "later")) {
		t.Error("a missing file is not watched:", gone.WatchPaths())
	}
}

func TestCredentials(t *testing.T) {
	b := newBed(t)
	entry := func(value string) string { return `{"command":"x","env":{"K":"` + value + `"}}` }
	mustSay(t, b.bad(entry("${credential:github}")), "env.K", "LoadCredential=github:PATH")
	if s, problems := b.one(fields(`"command":"x","env":{"K":"${credential:github:-none}"}`)); len(problems) != 0 || envs(s)[0] != "K=none" {
		t.Error(envs(s), problems)
	}
	dir := filepath.Join(b.home, "credentials")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	b.write(filepath.Join(dir, "github"), "s3cret\n")
	b.write(filepath.Join(b.home, "outside"), "x")
	b.options.Getenv = environment(map[string]string{"CREDENTIALS_DIRECTORY": dir})
	if s, problems := b.one(fields(`"command":"x","env":{"K":"${credential:github}"}`)); len(problems) != 0 || envs(s)[0] != "K=s3cret" {
		t.Error(envs(s), problems)
	}
	mustSay(t, b.bad(entry("${credential:gitlab}")), "env.K", "no credential of that name")
	for _, name := range []string{"../outside", "..", "a/b", "", "a b"} {
		mustSay(t, b.bad(entry("${credential:"+name+"}")), "env.K", "letters, digits")
	}
	mustSay(t, b.bad(entry("${credential:TRAPOS_SERVER_PASSWORD}")), "env.K", "given to no server")
}
