package daemon

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestEventsAreMessages keeps the table from naming messages that nobody writes any more.
func TestEventsAreMessages(t *testing.T) {
	var source strings.Builder
	for _, room := range []string{".", "../gateway", "../mcp"} {
		if err := filepath.WalkDir(room, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || d.Name() == "logging_events.go" {
				return err
			}
			data, err := os.ReadFile(path)
			source.Write(data)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	names, ids := map[string]bool{}, map[string]bool{}
	for message, event := range journalEvents {
		if !strings.Contains(source.String(), strconv.Quote(message)) {
			t.Errorf("nothing logs %q", message)
		}
		if names[event.Name] || ids[event.ID] || !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(event.ID) {
			t.Errorf("%s: %s is not a number of its own", event.Name, event.ID)
		}
		names[event.Name], ids[event.ID] = true, true
	}
}
