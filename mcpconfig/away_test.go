package mcpconfig

import (
	"os"
	"path/filepath"
	"testing"
)

// A file that is away for a moment keeps its servers, and that is no problem; one that is gone takes them with it.
func TestFileThatIsAway(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, WorkspaceFile)
	if err := os.WriteFile(path, []byte(`{"mcpServers":{"a":{"command":"x"},"b":{"command":["y"]}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	before, _ := Load(Options{Workspaces: []string{root}, HomeDir: root})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	asked := ""
	away := Options{Workspaces: []string{root}, HomeDir: root, LastGood: &before, Away: func(p string) bool { asked = p; return true }}
	set, problems := Load(away)
	if len(problems) != 0 || !set.Equal(before) || asked != path {
		t.Errorf("away: %v %v, asked for %q", set, problems, asked)
	}
	if s := set.Sources()[0]; !s.Exists || !s.OK {
		t.Errorf("away: %+v", s)
	}
	// Still away: what is kept is kept of what was kept.
	away.LastGood = &set
	if again, _ := Load(away); !again.Equal(before) {
		t.Errorf("still away: %v", again)
	}
	away.Away = func(string) bool { return false }
	if gone, problems := Load(away); len(gone.All()) != 0 || len(problems) != 0 {
		t.Errorf("gone: %v %v", gone, problems)
	}
	away.Away, away.LastGood = func(string) bool { return true }, nil
	if first, _ := Load(away); len(first.All()) != 0 {
		t.Errorf("at the first start nothing can be away: %v", first)
	}
}
