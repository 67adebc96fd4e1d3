//go:build unix

package upstream

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcpconfig"
)

func script(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil { //nolint:gosec // a program is to be executable
		t.Fatal(err)
	}
	return path
}

func TestFindingTheCommand(t *testing.T) {
	home := t.TempDir()
	login := t.TempDir()
	script(t, filepath.Join(home, ".nvm/versions/node/v9.0.0/bin/tool"), "#!/bin/sh\n")
	newer := script(t, filepath.Join(home, ".nvm/versions/node/v22.0.0/bin/tool"), "#!/bin/sh\n")
	fromLogin := script(t, filepath.Join(login, "logged"), "#!/bin/sh\n")
	shell := script(t, filepath.Join(t.TempDir(), "bash"), "#!/bin/sh\necho a greeting\nPATH="+login+":$PATH\neval \"$3\"\n")
	if err := os.Mkdir(filepath.Join(login, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	h := newHost(Options{Logger: zap.NewNop(), Environ: func() []string {
		return []string{"HOME=" + home, "PATH=/usr/bin:/bin::relative", "SHELL=" + shell, "USER=u"}
	}})
	defer h.close()
	command := func(named string, env ...mcpconfig.EnvVar) (command, error) {
		return h.command(mcpconfig.Server{Name: "s", Command: mcpconfig.NewSecret(named), Env: env})
	}
	for named, want := range map[string]string{"tool": newer, "logged": fromLogin, fromLogin: fromLogin, "sh": "/usr/bin/sh"} {
		c, err := command(named)
		if err != nil || c.path != want {
			t.Errorf("%s is found at %q, %v", named, c.path, err)
			continue
		}
		path := filepath.SplitList(valueOf(c.env, "PATH"))
		if path[0] != "/usr/bin" || !slices.Contains(path, filepath.Dir(want)) || slices.Contains(path, "relative") {
			t.Errorf("the child's PATH is %v", path)
		}
		if c.dir != home || valueOf(c.env, "USER") != "u" {
			t.Errorf("folder %q, environment %v", c.dir, c.env)
		}
	}
	for _, named := range []string{"folder", "nothing", login + "/nothing", login + "/folder"} {
		_, err := command(named)
		if err == nil || strings.Contains(err.Error(), named) {
			t.Errorf("%s: error %v", named, err)
		}
	}
	own := mcpconfig.EnvVar{Name: "PATH", Value: mcpconfig.NewSecret(login)}
	if _, err := command("tool", own); err == nil || strings.Contains(err.Error(), login) {
		t.Errorf("the entry's PATH is not the only one: %v", err)
	}
	if c, err := command("logged", own); err != nil || valueOf(c.env, "PATH") != login {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestLoginShellThatHangs ends with the host, not with the user's patience.
func TestLoginShellThatHangs(t *testing.T) {
	dir := t.TempDir()
	shell := script(t, filepath.Join(dir, "zsh"), "#!/bin/sh\nexec sleep 1000\n")
	l := newLoginPath("run" + loginMarker)
	l.begin(func() []string { return []string{"SHELL=" + shell, "PATH=/usr/bin:/bin"} })
	if got := l.folders(0); got != nil {
		t.Errorf("folders %v", got)
	}
	l.close()
	if got := l.folders(0); got != nil {
		t.Errorf("folders %v", got)
	}
}
