package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestInert(t *testing.T) {
	for name, want := range map[string]bool{
		"dice": true, "12:miner": true, "dice__roll": true, "@a/b.c-d": true, "/home/a/work": true, "C:/work": true,
		"": false, "-x": false, "a b": false, "$(id)": false, "a;b": false, "a\tb": false, "a\nb": false, "`id`": false, "é": false, `a\b`: false, "~": false, "a*": false,
	} {
		if inert(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// Names come from servers and computers; only those are offered that no shell can take for more than a name.
func TestCandidatesAreInert(t *testing.T) {
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	offer := firstOf(func(context.Context, *cobra.Command) ([]string, error) {
		return []string{"b", "$(id)", "a", "b", ""}, nil
	})
	if got, directive := offer(cmd, nil, ""); strings.Join(got, " ") != "a b" || directive != cobra.ShellCompDirectiveNoFileComp {
		t.Errorf("%q %v", got, directive)
	}
	if got, _ := offer(cmd, []string{"a"}, ""); len(got) > 0 {
		t.Errorf("a second argument: %q", got)
	}
}

// Each shell has a script, and bash, where it is there, can read its own.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range shells {
		var out, errs bytes.Buffer
		if code := execute(t.Context(), []string{"completion", shell}, streams{strings.NewReader(""), &out, &errs}); code != 0 || errs.Len() > 0 {
			t.Errorf("%s: %d %s", shell, code, errs.String())
		}
		if !strings.Contains(out.String(), "__complete") || !strings.Contains(out.String(), "traposd") {
			t.Errorf("%s: %d bytes that complete nothing", shell, out.Len())
		}
		program, err := exec.LookPath(shell)
		if err != nil || shell != "bash" && shell != "zsh" {
			continue
		}
		cmd := exec.CommandContext(t.Context(), program, "-n")
		cmd.Stdin = &out
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s cannot read it: %v %s", shell, err, text)
		}
	}
}

// Each command that is shown has a manual page, under the name that man looks for; lint is asked where it is installed.
func TestManualPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	t.Setenv("SOURCE_DATE_EPOCH", "0")
	var out bytes.Buffer
	if code := execute(t.Context(), []string{"man", dir}, streams{strings.NewReader(""), &out, &out}); code != 0 || out.Len() > 0 {
		t.Fatalf("%d %s", code, out.String())
	}
	pages := 0
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		pages++
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		data, err := os.ReadFile(filepath.Join(dir, name+".1"))
		if err != nil {
			t.Error(err)
			return
		}
		page := string(data)
		for _, part := range []string{".TH ", name, cmd.Short, "1970", ".SH SYNOPSIS"} {
			if !strings.Contains(strings.ReplaceAll(page, `\`, ""), part) {
				t.Errorf("%s says no %q", name, part)
			}
		}
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				visit(sub)
			}
		}
	}
	visit(newRoot())
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != pages || pages < 30 {
		t.Errorf("%d files for %d commands: %v", len(files), pages, err)
	}
	if mandoc, err := exec.LookPath("mandoc"); err == nil {
		if text, err := exec.CommandContext(t.Context(), mandoc, append([]string{"-Tlint", "-Werror"}, files...)...).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}
