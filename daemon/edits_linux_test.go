package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// editBed is a running service whose one server `dice` is started anew by each edit that means something.
type editBed struct {
	*running
	path    string
	version int
}

// config is a .mcp.json that differs from version to version in one variable of dice; words stays as it is.
func (b *editBed) config() string {
	return strings.Replace(demoEntries(b.t, "dice", "words"), `"command"`, fmt.Sprintf(`"env":{"VERSION":"%d"},"command"`, b.version), 1)
}

func (b *editBed) next() string { b.version++; return b.config() }

func (b *editBed) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *editBed) put(path, text string) {
	b.t.Helper()
	b.must(os.WriteFile(path, []byte(text), 0o600))
}

// sh runs a line in the workspace; $NEW is the new content's file, outside of it.
func (b *editBed) sh(line, content string) {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "new")
	b.put(file, content)
	cmd := exec.CommandContext(b.t.Context(), "sh", "-ec", line)
	cmd.Dir = b.workspace
	cmd.Env = append(os.Environ(), "NEW="+file, "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// pause lets time pass that is part of the edit itself.
func (b *editBed) pause(d time.Duration) { <-time.After(d) }

func startEditBed(t *testing.T) *editBed {
	t.Helper()
	settings := testSettings(t)
	b := &editBed{running: &running{t: t}}
	b.running = start(t, settings, b.config())
	b.path = filepath.Join(b.workspace, ".mcp.json")
	b.awaitReady("dice")
	b.awaitReady("words")
	return b
}

// saves are the ways in which programs save a file. Each is made several times over.
var saves = map[string]func(b *editBed){
	"in place":          func(b *editBed) { b.put(b.path, b.next()) },
	"cp over it":        func(b *editBed) { b.sh(`cp "$NEW" .mcp.json`, b.next()) },
	"mv over it":        func(b *editBed) { b.sh(`cp "$NEW" .x; mv .x .mcp.json`, b.next()) },
	"mv from elsewhere": func(b *editBed) { b.sh(`mv "$NEW" .mcp.json`, b.next()) },
	"as vim does":       func(b *editBed) { b.sh(`mv .mcp.json .mcp.json~; cp "$NEW" .mcp.json; rm .mcp.json~`, b.next()) },
	"unlink and create": func(b *editBed) { b.sh(`rm .mcp.json; cp "$NEW" .mcp.json`, b.next()) },
	"hard link":         func(b *editBed) { b.sh(`cp "$NEW" .x; ln -f .x .mcp.json; rm .x`, b.next()) },
	"sed -i": func(b *editBed) {
		b.version++
		b.sh(fmt.Sprintf(`sed -i 's/"VERSION":"[0-9]*"/"VERSION":"%d"/' .mcp.json`, b.version), "")
	},
	"truncated for a moment": func(b *editBed) { b.put(b.path, ""); b.pause(30 * time.Millisecond); b.put(b.path, b.next()) },
	"half-written for 300 ms": func(b *editBed) {
		text := b.next()
		b.put(b.path, text[:len(text)/2])
		b.pause(300 * time.Millisecond)
		b.put(b.path, text)
	},
	"appended in pieces": func(b *editBed) {
		b.sh(`: > .mcp.json; for i in 1 2 3 4 5; do dd if="$NEW" bs=64 count=1 skip=$((i-1)) 2>/dev/null >> .mcp.json; done; dd if="$NEW" bs=64 skip=5 2>/dev/null >> .mcp.json`, b.next())
	},
	"symlink, target edited": func(b *editBed) {
		b.sh(`mkdir -p real; cp "$NEW" real/a; ln -sfn real/a .mcp.json`, b.config())
		b.put(filepath.Join(b.workspace, "real", "a"), b.next())
	},
	"symlink moved": func(b *editBed) {
		b.sh(`mkdir -p real; cp "$NEW" real/b`+fmt.Sprint(b.version)+`; ln -sfn real/b`+fmt.Sprint(b.version)+` .x; mv -T .x .mcp.json`, b.next())
	},
	"..data swap": func(b *editBed) {
		dir := fmt.Sprintf("v%d", b.version)
		b.sh(`mkdir -p data/`+dir+`; cp "$NEW" data/`+dir+`/f; ln -sfn `+dir+` data/..tmp; mv -T data/..tmp data/..data; ln -sfn data/..data/f .mcp.json`, b.next())
	},
	"git checkout": func(b *editBed) {
		b.sh(`test -d .git || git init -q .; git add -f .mcp.json; git commit -qm old --allow-empty; git branch -f old; cp "$NEW" .mcp.json; git add -f .mcp.json; git commit -qm new; git checkout -q old; git checkout -q -`, b.next())
	},
	"git stash": func(b *editBed) {
		b.sh(`test -d .git || git init -q .; git add -f .mcp.json; git commit -qm old --allow-empty; cp "$NEW" .mcp.json; git stash -q; git stash pop -q`, b.next())
	},
	"workspace removed and made again": func(b *editBed) {
		b.must(os.RemoveAll(b.workspace))
		b.must(os.Mkdir(b.workspace, 0o700))
		b.put(b.path, b.next())
	},
}

// Every save takes effect, however it is made and however often, and touches only the server that it changed.
func TestEverySaveStyleTakesEffect(t *testing.T) {
	for name, save := range saves {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := startEditBed(t)
			words := b.server("words").PID
			for round := range 3 {
				before := b.server("dice").PID
				save(b)
				await(t, fmt.Sprintf("round %d to take effect", round+1), func() bool {
					s := b.server("dice")
					return s.State == "ready" && s.PID != before
				})
				// What came is the last version, not one on the way to it.
				if got := environOf(t, b.server("dice").PID, "VERSION"); got != fmt.Sprint(b.version) {
					await(t, "the last version", func() bool { return environOf(t, b.server("dice").PID, "VERSION") == fmt.Sprint(b.version) })
				}
			}
			if now := b.server("words").PID; now != words {
				t.Errorf("words was process %d and is %d", words, now)
			}
		})
	}
}

func environOf(t *testing.T, pid int, name string) string {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return "" // it ended meanwhile
	}
	for entry := range strings.SplitSeq(string(data), "\x00") {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// What is no edit restarts nothing and is not even applied.
func TestWhatIsNoEditChangesNothing(t *testing.T) {
	b := startEditBed(t)
	dice, words := b.server("dice").PID, b.server("words").PID
	applied := b.logs.FilterMessage("configuration applied").Len()
	for name, act := range map[string]func(){
		"touch":               func() { b.sh(`touch .mcp.json`, "") },
		"chmod":               func() { b.sh(`chmod 640 .mcp.json; chmod 600 .mcp.json`, "") },
		"identical bytes":     func() { b.put(b.path, b.config()) },
		"identical by rename": func() { b.sh(`cp "$NEW" .x; mv .x .mcp.json`, b.config()) },
		"reformatted":         func() { b.put(b.path, "// comment\n"+strings.ReplaceAll(b.config(), ",", ",\n\t")+"\r\n") },
		"neighbours": func() {
			b.sh(`for i in 1 2 3; do echo x > .mcp.json.swp; mv .mcp.json.swp .mcp.json~; rm .mcp.json~; done`, "")
		},
		"gone and back": func() { b.sh(`mv .mcp.json .away; sleep 0.3; mv .away .mcp.json`, "") },
	} {
		act()
		b.must(b.reload(t.Context()))
		if d, w := b.server("dice").PID, b.server("words").PID; d != dice || w != words {
			t.Errorf("%s: dice was %d and is %d, words was %d and is %d", name, dice, d, words, w)
		}
	}
	if n := b.logs.FilterMessage("configuration applied").Len(); n != applied {
		t.Errorf("the configuration was applied %d times more", n-applied)
	}
}

// A file that stays away takes its servers with it, after the grace.
func TestRemovedFileStopsItsServers(t *testing.T) {
	b := startEditBed(t)
	dice := b.server("dice").PID
	b.must(os.Remove(b.path))
	removed := time.Now()
	await(t, "dice to stop", func() bool { return b.server("dice").State == "" })
	if waited := time.Since(removed); waited < 2*time.Second {
		t.Errorf("its servers were stopped after %v, without the grace", waited)
	}
	await(t, "its process to end", func() bool { _, err := os.Stat(fmt.Sprintf("/proc/%d", dice)); return err != nil })
}

// A workspace and a global folder that do not exist at the start are seen when they come.
func TestFoldersThatComeLater(t *testing.T) {
	settings := testSettings(t)
	later := filepath.Join(settings.Workspaces[0], "deep", "later")
	settings.Workspaces = append(settings.Workspaces, later)
	r := start(t, settings, `{"mcpServers":{}}`)
	if err := os.MkdirAll(later, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(later, ".mcp.json"), []byte(demoEntries(t, "dice")), 0o600); err != nil {
		t.Fatal(err)
	}
	r.awaitReady("dice")
	if err := os.MkdirAll(settings.ConfigDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(settings.ConfigDir, "mcp.json"), []byte(demoEntries(t, "dice", "words")), 0o600); err != nil {
		t.Fatal(err)
	}
	words := r.awaitReady("words")
	if words.Scope != "global" {
		t.Errorf("words is of scope %s", words.Scope)
	}
	if dice := r.server("dice"); dice.Scope != "workspace" || len(dice.Shadows) != 1 {
		t.Errorf("the workspace's dice does not hide the global one: %+v", dice)
	}
}

// The content of an envFile is configuration as well.
func TestEnvFileIsWatched(t *testing.T) {
	settings := testSettings(t)
	file := filepath.Join(settings.Workspaces[0], "vars.env")
	if err := os.WriteFile(file, []byte("VERSION=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, settings, strings.Replace(demoEntries(t, "dice"), `"command"`, `"envFile":"vars.env","command"`, 1))
	before := r.awaitReady("dice")
	if got := environOf(t, before.PID, "VERSION"); got != "1" {
		t.Fatalf("VERSION is %q", got)
	}
	if err := os.WriteFile(file, []byte("VERSION=2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, "the new value", func() bool { return environOf(t, r.server("dice").PID, "VERSION") == "2" })
}
