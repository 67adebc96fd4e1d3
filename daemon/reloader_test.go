package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/traposd/traposd/mcp/upstream"
	"github.com/traposd/traposd/mcpconfig"
)

// reloadBed is a reloader over a real file, with what it applied.
type reloadBed struct {
	*reloader
	path    string
	applied [][]string // the names of each set that was applied
	watched []string
	logs    *observer.ObservedLogs
}

func newReloadBed(t *testing.T) *reloadBed {
	t.Helper()
	root := t.TempDir()
	core, logs := observer.New(zapcore.DebugLevel)
	b := &reloadBed{reloader: newReloader(), path: filepath.Join(root, ".mcp.json"), logs: logs}
	b.log = zap.New(core)
	b.load = func(before loaded, away func(string) bool) loaded {
		options := mcpconfig.Options{Workspaces: []string{root}, HomeDir: root, Away: away}
		if before.watch != nil {
			options.LastGood = &before.set
		}
		now := loaded{}
		now.set, now.problems = mcpconfig.Load(options)
		now.run, now.watch = now.set.Servers(), now.set.WatchPaths()
		return now
	}
	var last mcpconfig.Set
	b.apply = func(now loaded) upstream.Outcome {
		diff := now.set.Diff(last)
		last = now.set
		if !diff.Empty() {
			b.applied = append(b.applied, names(now.run))
		}
		return upstream.Outcome{Started: names(diff.Added), Changed: names(diff.Changed), Stopped: names(diff.Removed), Unchanged: names(diff.Unchanged)}
	}
	b.watch = func(paths []string) []string { b.watched = paths; return nil }
	return b
}

func (b *reloadBed) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(b.path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (b *reloadBed) last() string {
	if len(b.applied) == 0 {
		return "nothing"
	}
	return strings.Join(b.applied[len(b.applied)-1], " ")
}

// Valid, invalid, valid: what is served in between is what was good, and what is wrong is said once.
func TestReloadKeepsTheLastGood(t *testing.T) {
	b := newReloadBed(t)
	b.write(t, `{"mcpServers":{"a":{"command":"x"},"b":{"command":"y"}}}`)
	b.first()
	if b.last() != "a b" {
		t.Fatalf("first: %s", b.last())
	}
	for range 2 {
		b.write(t, `{"mcpServers":{"a":{"command":"x"},`)
		b.reloadNow()
	}
	if len(b.applied) != 1 {
		t.Errorf("a broken file was applied: %q", b.applied)
	}
	if got := names(b.current().set.Servers()); strings.Join(got, " ") != "a b" {
		t.Errorf("running set while broken: %q", got)
	}
	if n := b.logs.FilterMessage("configuration problem").Len(); n != 1 {
		t.Errorf("the problem was logged %d times", n)
	}
	b.write(t, `{"mcpServers":{"a":{"command":"x"},"c":{"command":"z"}}}`)
	b.reloadNow()
	if b.last() != "a c" || len(b.applied) != 2 {
		t.Errorf("mended: %q", b.applied)
	}
	if b.logs.FilterMessage("configuration problem mended").Len() != 1 || len(b.current().problems) != 0 {
		t.Errorf("the mending was not told, or a problem stayed: %v", b.current().problems)
	}
}

// A broken entry holds back itself only.
func TestReloadKeepsOneBrokenEntry(t *testing.T) {
	b := newReloadBed(t)
	b.write(t, `{"mcpServers":{"a":{"command":"x"},"b":{"command":"y"}}}`)
	b.first()
	b.write(t, `{"mcpServers":{"a":{"command":["x"]},"b":{"command":"other"},"c":{"command":"z"}}}`)
	b.reloadNow()
	if b.last() != "a b c" {
		t.Errorf("applied %q", b.last())
	}
	problems := b.current().problems
	if len(problems) != 1 || !problems[0].KeptLastGood || problems[0].Server != "a" {
		t.Errorf("problems %v", problems)
	}
}

// At the first start there is no last good: a broken entry is off.
func TestFirstStartWithABrokenEntry(t *testing.T) {
	b := newReloadBed(t)
	b.write(t, `{"mcpServers":{"a":{},"b":{"command":"y"}}}`)
	b.first()
	if b.last() != "b" {
		t.Errorf("applied %q", b.last())
	}
}

func TestReloadOfTheSameIsNothing(t *testing.T) {
	b := newReloadBed(t)
	b.write(t, `{"mcpServers":{"a":{"command":"x","args":["1"]}}}`)
	b.first()
	b.write(t, "// a comment\n{\"mcpServers\": {\"a\": {\"args\": [\"1\"], \"command\": \"x\"},},}\r\n")
	b.reloadNow()
	if len(b.applied) != 1 || b.logs.FilterMessage("configuration applied").Len() != 1 {
		t.Errorf("applied %q", b.applied)
	}
	if !strings.Contains(strings.Join(b.watched, "\n"), b.path) {
		t.Errorf("watched %q", b.watched)
	}
}

func TestReloadNeverLogsAValue(t *testing.T) {
	b := newReloadBed(t)
	b.write(t, `{"mcpServers":{"a":{"command":"CANARY1","args":["CANARY2",["CANARY3"]],"env":{"K":"CANARY4"}},
		"b":{"url":"CANARY5","headers":{"H":"CANARY6"}},"c":{"command":"x","args":["${CANARY_VARIABLE}"]}}}`)
	b.first()
	for _, entry := range b.logs.All() {
		line, err := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()).EncodeEntry(entry.Entry, entry.Context)
		if err != nil {
			t.Fatal(err)
		}
		for n := '1'; n <= '6'; n++ {
			if strings.Contains(line.String(), "CANARY"+string(n)) {
				t.Errorf("a value was logged: %s", line)
			}
		}
	}
	if b.logs.Len() < 3 {
		t.Errorf("only %d lines were logged", b.logs.Len())
	}
}

func TestReloadIsRefusedWhileStopping(t *testing.T) {
	b := newReloadBed(t)
	b.write(t, `{"mcpServers":{}}`)
	close(b.ended)
	if err := b.reload(t.Context()); !errors.Is(err, errStopping) {
		t.Errorf("got %v", err)
	}
}

// A file that a first reading shows (an envFile) is read again once it is watched: an edit in between must not be lost.
func TestReloadReadsAgainWhatIsNewlyWatched(t *testing.T) {
	b := newReloadBed(t)
	b.write(t, `{"mcpServers":{"a":{"command":"x"}}}`)
	first := true
	b.watch = func([]string) []string {
		if !first {
			return nil
		}
		first = false
		b.write(t, `{"mcpServers":{"a":{"command":"x"},"b":{"command":"y"}}}`)
		return []string{b.path}
	}
	b.first()
	if b.last() != "a b" || len(b.applied) != 1 {
		t.Errorf("applied %q", b.applied)
	}
}

// A file in the middle of a save is not gone because another one was saved at the same moment.
func TestReloadWaitsForAFileThatIsAway(t *testing.T) {
	b := newReloadBed(t)
	b.write(t, `{"mcpServers":{"a":{"command":"x"}}}`)
	b.first()
	if err := os.Remove(b.path); err != nil {
		t.Fatal(err)
	}
	b.changed([]string{"/some/other/file"})
	b.reloadNow()
	if got := names(b.current().run); len(got) != 1 {
		t.Errorf("running while away: %q", got)
	}
	b.changed([]string{b.path})
	b.reloadNow()
	if got := names(b.current().run); len(got) != 0 {
		t.Errorf("running when gone: %q", got)
	}
}

func TestHalfWritten(t *testing.T) {
	whole := `{"mcpServers": {"a": {"command": "x", "args": ["y", 15]}}}`
	for i := 1; i < len(whole); i++ {
		if !halfWritten("", []byte(whole[:i])) {
			t.Errorf("%s is not taken for half-written", whole[:i])
		}
	}
	for _, text := range []string{whole, whole + "\n", "// c\n" + whole, `{"a" 1}`, `{"a": x}`, `{a: 1`} {
		if halfWritten("", []byte(text)) {
			t.Errorf("%s is taken for half-written", text)
		}
	}
}
