package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// readmeStep is one command of a console block of the README, and what it prints.
type readmeStep struct {
	command, output string
}

// readmeSteps are all commands of the README's console blocks, in order.
func readmeSteps(t *testing.T) []readmeStep {
	t.Helper()
	data, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var steps []readmeStep
	inside := false
	for line := range strings.Lines(string(data)) {
		switch command, isCommand := strings.CutPrefix(line, "$ "); {
		case strings.HasPrefix(line, "```"):
			inside = strings.HasPrefix(line, "```console")
		case inside && isCommand:
			steps = append(steps, readmeStep{command: strings.TrimSpace(command)})
		case inside:
			steps[len(steps)-1].output += line
		}
	}
	if len(steps) < 10 {
		t.Fatalf("only %d commands were found in the README", len(steps))
	}
	return steps
}

// normal takes out what differs from run to run: numbers, the widths of columns, the folder that stands for ~.
func normal(text, home string) string {
	text = strings.ReplaceAll(text, home, "~")
	text = regexp.MustCompile(`\d+`).ReplaceAllString(text, "0")
	text = regexp.MustCompile(`[ \t]+`).ReplaceAllString(text, " ")
	return strings.TrimSpace(regexp.MustCompile(`(?m) $`).ReplaceAllString(text, ""))
}

// TestReadmeSession runs the README's session as a person would, and holds what each command prints against what the
// README says. A person takes a moment between two commands; the test repeats one until its output is right.
func TestReadmeSession(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Fatal("the README's commands are for a shell: ", err)
	}
	home := t.TempDir()
	bin := filepath.Join(home, "bin")
	for _, dir := range []string{bin, filepath.Join(home, "project")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// The test binary is the program when it is called by that name (see TestMain).
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(bin, "traposd")); err != nil {
		t.Fatal(err)
	}
	run, err := os.MkdirTemp("", "tr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	shell := &readmeShell{t: t, home: home, env: []string{
		"HOME=" + home, "PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "TRAPOS_RUNTIME_DIR=" + run,
		"TRAPOS_MCP_ADDR=127.0.0.1:0", "TRAPOS_GATEWAY_ADDR=127.0.0.1:0", "TRAPOS_LOG_FORMAT=json",
	}}
	for _, step := range readmeSteps(t) {
		shell.do(step)
	}
}

type readmeShell struct {
	t    *testing.T
	home string
	env  []string
}

func (s *readmeShell) sh(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Env, cmd.Dir = s.env, s.home
	return cmd
}

func (s *readmeShell) do(step readmeStep) {
	s.t.Helper()
	if setting, ok := strings.CutPrefix(step.command, "export "); ok {
		s.env = append(s.env, setting)
		return
	}
	if file, ok := strings.CutPrefix(step.command, "cat ~/"); ok { // the reader makes the file; so does the test
		if err := os.WriteFile(filepath.Join(s.home, file), []byte(step.output), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	if command, ok := strings.CutSuffix(step.command, " &"); ok {
		s.background(command)
		return
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), awaitLimit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	want := normal(step.output, s.home)
	for {
		out, err := s.sh(ctx, step.command).CombinedOutput()
		got := normal(string(out), s.home)
		if err == nil && got == want {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.t.Fatalf("$ %s\nprints (%v)\n%s\nand the README says\n%s", step.command, err, got, want)
		}
	}
}

// background starts a command that runs until the test ends, and asks it to end then.
func (s *readmeShell) background(command string) {
	s.t.Helper()
	cmd := s.sh(context.Background(), "exec "+command)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := askToEnd(cmd.Process.Pid); err != nil {
			s.t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			s.t.Errorf("%s ended with %v", command, err)
		}
	})
}
