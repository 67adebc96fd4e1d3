package daemon

import (
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap/zapcore"
)

// maxStartLines is what a start with ten servers may write at level info.
const maxStartLines = 20

// atInfo are the lines that a service has logged at info and above.
func (r *running) atInfo() (lines []string) {
	for _, entry := range r.logs.All() {
		if entry.Level >= zapcore.InfoLevel {
			lines = append(lines, fmt.Sprintf("%s %s %v", entry.Level, entry.Message, entry.ContextMap()))
		}
	}
	return lines
}

// A start is short, and a service that does what it is there for says nothing: a log that grows by itself hides what
// matters.
func TestStartIsShortAndWorkIsSilent(t *testing.T) {
	var names, entries []string
	_, entry, _ := strings.Cut(strings.TrimSuffix(demoEntries(t, "words"), "}}"), `"words":`)
	for i := range 10 {
		names = append(names, fmt.Sprintf("words%d", i))
		entries = append(entries, fmt.Sprintf("%q:%s", names[i], entry))
	}
	r := start(t, testSettings(t), `{"mcpServers":{`+strings.Join(entries, ",")+`}}`)
	for _, name := range names {
		r.awaitReady(name)
	}
	session := r.connect("2025-11-25", nil)
	await(t, "every server's tool", func() bool { return strings.Count(toolNames(t, session), "__") == len(names) })
	await(t, "a line for each server", func() bool {
		return r.logs.FilterMessage("server ready").Len() == len(names) && r.logs.FilterMessage("configuration applied").Len() == 1
	})
	started := r.atInfo()
	if len(started) > maxStartLines {
		t.Errorf("a start with %d servers logs %d lines:\n%s", len(names), len(started), strings.Join(started, "\n"))
	}
	for range 3 {
		for _, name := range names {
			if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name + "__count", Arguments: map[string]any{"text": "a b"}}); err != nil {
				t.Error(err)
			}
		}
		toolNames(t, session)
		r.statusReport()
		metricsText(t, r)
		// A reading of files that have not changed: whatever was on its way is through when it is done.
		if err := r.reload(t.Context()); err != nil {
			t.Error(err)
		}
	}
	other := r.connect("2025-11-25", nil)
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if after := r.atInfo(); len(after) > len(started) {
		t.Errorf("a service to which nothing happens logs:\n%s", strings.Join(after[len(started):], "\n"))
	}
}
