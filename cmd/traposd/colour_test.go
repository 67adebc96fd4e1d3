package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/traposd/traposd/mcpconfig"
)

func TestPaint(t *testing.T) {
	got := paint("a.json:1:2: error: server \"x\": error: y", mcpconfig.SeverityError)
	if want := "a.json:1:2: \x1b[31merror\x1b[0m: server \"x\": error: y"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A pipe, a file and a buffer get no colour.
func TestNoColourBeyondATerminal(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if coloured(file) || coloured(&bytes.Buffer{}) {
		t.Error("colour where there is no terminal")
	}
}
