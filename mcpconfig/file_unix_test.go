//go:build unix

package mcpconfig

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeInfo is a file with an owner and a mode.
type fakeInfo struct {
	fs.FileInfo
	uid  uint32
	mode fs.FileMode
}

func (f fakeInfo) Mode() fs.FileMode { return f.mode }
func (f fakeInfo) IsDir() bool       { return f.mode.IsDir() }
func (f fakeInfo) Sys() any          { return &syscall.Stat_t{Uid: f.uid} }

func TestTrusted(t *testing.T) {
	for _, c := range []struct {
		what string
		info fakeInfo
		ok   bool
	}{
		{"our own", fakeInfo{uid: 7, mode: 0o600}, true},
		{"root's", fakeInfo{uid: 0, mode: 0o644}, true},
		{"another's", fakeInfo{uid: 8, mode: 0o600}, false},
		{"for the group to write", fakeInfo{uid: 7, mode: 0o664}, false},
		{"for all to write", fakeInfo{uid: 7, mode: 0o646}, false},
		{"a folder like /tmp", fakeInfo{uid: 0, mode: fs.ModeDir | fs.ModeSticky | 0o777}, true},
		{"a folder for all", fakeInfo{uid: 0, mode: fs.ModeDir | 0o777}, false},
	} {
		if err := trusted(c.info, 7); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

func TestPrivilegedRefusesFilesOfOthers(t *testing.T) {
	b := newBed(t)
	b.options.Privileged = true
	for _, dir := range []string{filepath.Dir(filepath.Dir(b.root)), filepath.Dir(b.root), b.root} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.one(fields(`"command":"x"`))
	chmod := func(path string, mode fs.FileMode) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	chmod(b.workspaceFile, 0o666)
	mustHave(t, b.lost(fields(`"command":"x"`)).Message, "others can write it")
	chmod(b.workspaceFile, 0o644)
	chmod(b.root, 0o777)
	mustHave(t, b.lost(fields(`"command":"x"`)).Message, "a folder above it")
	chmod(b.root, 0o755)
	env := filepath.Join(b.root, "env")
	b.write(env, "A=1")
	b.one(fields(`"command":"x","envFile":"env"`))
	chmod(env, 0o666)
	mustSay(t, b.bad(`{"command":"x","envFile":"env"}`), "envFile", "others can write it")
	b.options.Privileged = false
	b.one(fields(`"command":"x","envFile":"env"`))
}

func TestOnlyRegularFilesAreRead(t *testing.T) {
	for what, place := range map[string]struct {
		make  func(b *bed) error
		words string
	}{
		"folder":       {func(b *bed) error { return os.Mkdir(b.workspaceFile, 0o755) }, "not a regular file"},
		"pipe":         {func(b *bed) error { return syscall.Mkfifo(b.workspaceFile, 0o644) }, "not a regular file"},
		"device":       {func(b *bed) error { return os.Symlink("/dev/zero", b.workspaceFile) }, "not a regular file"},
		"loop":         {func(b *bed) error { return os.Symlink(b.workspaceFile, b.workspaceFile) }, "a loop of symbolic links"},
		"under a file": {func(b *bed) error { b.options.Workspaces = []string{"/dev/null"}; return nil }, "not a directory"},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBed(t)
			if err := place.make(b); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			set, problems := Load(b.options)
			if took := time.Since(start); took > time.Second {
				t.Errorf("took %v", took)
			}
			if len(problems) != 1 || !problems[0].WholeFile() || !strings.Contains(problems[0].Message, place.words) || len(set.All()) != 0 {
				t.Fatal(problems)
			}
		})
	}
}

func TestPipeAsEnvFile(t *testing.T) {
	b := newBed(t)
	if err := syscall.Mkfifo(filepath.Join(b.root, "env"), 0o644); err != nil {
		t.Fatal(err)
	}
	mustSay(t, b.bad(`{"command":"x","envFile":"env"}`), "envFile", "not a regular file")
}

func TestLinks(t *testing.T) {
	b := newBed(t)
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	target := filepath.Join(b.home, "shared.json")
	link(target, b.workspaceFile)
	set, problems := Load(b.options)
	if len(problems) != 1 || problems.Errors() || set.Sources()[0].Exists {
		t.Fatal("a link that leads nowhere:", problems)
	}
	// Two workspaces with links to one file are two; two names of one workspace are one.
	b.write(target, fields(`"command":"./x"`))
	second := filepath.Join(filepath.Dir(b.root), "second")
	if err := os.Mkdir(second, 0o755); err != nil {
		t.Fatal(err)
	}
	link(target, filepath.Join(second, WorkspaceFile))
	alias := filepath.Join(filepath.Dir(b.root), "alias")
	link(b.root, alias)
	b.options.Workspaces = []string{b.root, alias, second}
	set, problems = Load(b.options)
	if len(problems) != 0 || len(set.Servers()) != 2 || len(set.View(second)) != 1 {
		t.Fatal(set, problems)
	}
	if got := set.View(second)[0].Command.Reveal(); got != filepath.Join(second, "x") {
		t.Fatal(got)
	}
	if got := set.View(alias); len(got) != 1 || got[0].Command.Reveal() != filepath.Join(b.root, "x") {
		t.Fatal(got)
	}
}
