package daemon

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestQuotedMessagesAreReal holds the messages that troubleshooting.md quotes against the sources they come from.
func TestQuotedMessagesAreReal(t *testing.T) {
	document, err := os.ReadFile("../packaging/doc/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, room := range []string{"../cmd", ".", "../gateway", "../mcp", "../mcpconfig", "../lua"} {
		err := filepath.WalkDir(room, func(path string, entry fs.DirEntry, err error) error {
			name := entry.Name()
			if err != nil || entry.IsDir() || strings.HasSuffix(name, "_test.go") || !strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".lua") {
				return err
			}
			text, err := os.ReadFile(path)
			sources.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// A quotation mark stands escaped in a Go string, and a sentence may go on in the next line of the source.
	code := strings.ReplaceAll(sources.String(), `\"`, `"`)
	code = regexp.MustCompile(`" \+\s+"`).ReplaceAllString(code, "")
	quoted := regexp.MustCompile("(?m)^\\| (?:state )?`([^`]+)`").FindAllStringSubmatch(string(document), -1)
	if len(quoted) < 25 {
		t.Fatalf("only %d messages were found", len(quoted))
	}
	for _, message := range quoted {
		if strings.HasPrefix(message[1], "traposd ") && !strings.Contains(message[1], " is ") {
			continue // a command
		}
		if !strings.Contains(code, message[1]) {
			t.Errorf("nothing says %q", message[1])
		}
	}
}
