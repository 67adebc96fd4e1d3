package service

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnitsPassSystemdsOwnCheck has systemd-analyze read the units, with a program whose path holds what is special there.
func TestUnitsPassSystemdsOwnCheck(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not there: the golden files are all that is compared")
		return
	}
	for name, spec := range specs() {
		dir := t.TempDir()
		spec.Program, spec.Systemd = filepath.Join(dir, "a b 100% $HOME", "traposd"), 252
		if err := os.Mkdir(filepath.Dir(spec.Program), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(spec.Program, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		args := []string{"verify", "--man=no"}
		for _, unit := range spec.units() {
			path := filepath.Join(dir, unit.Name)
			if err := os.WriteFile(path, []byte(unit.Text), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, path)
		}
		out, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput()
		// It reads the units that ours name as well, and what it thinks of those is no matter.
		if err != nil || strings.Contains(string(out), Name) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
