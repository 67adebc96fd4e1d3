package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon"
)

// hostile is what a computer or a server could have a terminal do: two ways to begin a control sequence, DEL, text turned
// around, and a tag character beyond the first plane.
const hostile = "a\x1b[2J\u009b2J\x7f\u202eb\U000e0001é"

func TestNothingThatIsPrintedSteersTheTerminal(t *testing.T) {
	structured, err := json.Marshal(map[string]string{"output": hostile})
	if err != nil {
		t.Fatal(err)
	}
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetOut(&out)
		if err := showResult(cmd, daemon.ToolResult{Text: hostile, Structured: structured}, asJSON); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); strings.ContainsAny(text, "\x1b\u009b\x7f\u202e\U000e0001") || !strings.Contains(text, "é") {
			t.Errorf("json %v: printed %q", asJSON, text)
		}
		var parsed map[string]string
		if asJSON && (json.Unmarshal(out.Bytes(), &parsed) != nil || parsed["output"] != hostile) {
			t.Errorf("the JSON says %q", parsed["output"])
		}
	}
	if text := oneLine(errors.New(hostile).Error()); strings.ContainsAny(text, "\x1b\u009b\x7f\u202e") {
		t.Errorf("the error prints as %q", text)
	}
}

// A glance stays one, however many computers and clients there are.
func TestStatusShowsNotAllOfThousands(t *testing.T) {
	report := daemon.StatusReport{
		Sessions:  make([]daemon.SessionReport, statusRows+7),
		Computers: make([]daemon.ComputerReport, statusRows+3000),
	}
	report.Service.Gateway = "ws://127.0.0.1:1/gateway"
	var out bytes.Buffer
	if err := showStatus(&out, report); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"… and 3000 more; see `traposd computers`\n", "… and 7 more; see `traposd sessions`\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the status does not say %q", want)
		}
	}
	if lines := strings.Count(out.String(), "\n"); lines > 2*statusRows+20 {
		t.Errorf("the status has %d lines", lines)
	}
}

// A name of many thousand characters must not make every line of a table as long.
func TestLongNamesDoNotWidenTables(t *testing.T) {
	report := daemon.ServersReport{Servers: []daemon.ServerReport{{Name: strings.Repeat("n", 10_000)}, {Name: "short"}}}
	var out bytes.Buffer
	if err := showServers(&out, report, false); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); len(text) > 1000 || !strings.Contains(text, "n…") {
		t.Errorf("%d bytes are printed", len(text))
	}
}

// What is imported was written by others, and is looked at in a terminal before it is put to use.
func TestWhatIsImportedDoesNotSteerTheTerminal(t *testing.T) {
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{hostile: map[string]any{"command": hostile}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := newImportCommand()
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs([]string{path})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.ContainsAny(text, "\x1b\u009b\x7f\u202e\U000e0001") {
		t.Errorf("printed %q", text)
	}
	var made struct {
		MCPServers map[string]struct{ Command string }
	}
	if err := json.Unmarshal(out.Bytes(), &made); err != nil || made.MCPServers[hostile].Command != hostile {
		t.Errorf("%v in %q", err, out.String())
	}
}
