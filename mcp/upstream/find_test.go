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
	if err := os.Mkdir(filepath.Join(login, "subdirectory"), 0o755); err != nil {
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
	there := mcpconfig.Server{Name: "s", Command: mcpconfig.NewSecret("sh"), Source: mcpconfig.Source{Workspace: login}}
	if c, err := h.command(there); err != nil || c.dir != login {
		t.Errorf("of a workspace: folder %q, %v", c.dir, err)
	}
	there.Cwd = mcpconfig.NewSecret(home + "/.nvm")
	if c, err := h.command(there); err != nil || c.dir != home+"/.nvm" {
		t.Errorf("with cwd: folder %q, %v", c.dir, err)
	}
	for _, named := range []string{"subdirectory", "nothing", login + "/nothing", login + "/subdirectory"} {
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

func TestWhatIsSaidOfACommandThatIsNotThere(t *testing.T) {
	for _, c := range []struct {
		named   string
		folders int
		own     bool
		want    string
	}{
		{"npx", 9, false, "npx was not found in 9 folders: install Node.js, write its full path, or set PATH in the entry's env (searched: /no/0, /no/1, /no/2, …)"},
		{"uvx", 3, false, "uvx was not found in 3 folders: install uv, write its full path, or set PATH in the entry's env (searched: /no/0, /no/1, /no/2)"},
		{"hush", 1, false, "its command was not found in 1 folder: install it, write its full path, or set PATH in the entry's env (searched: /no/0)"},
		{"hush", 9, true, "its command was not found in the PATH that its entry sets"},
		{"docker", 9, true, "docker was not found in the PATH that its entry sets"},
		{"/no/npx", 9, false, "its command is a path at which there is nothing that can be executed"},
	} {
		folders := []string{"", "relative"}
		for i := range c.folders {
			folders = append(folders, "/no/"+itoa(i))
		}
		if _, err := find(c.named, folders, c.own); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", c.named, err)
		}
	}
}

// TestCommandThatAppearsIsStarted: it is installed into one of the folders that were searched, after the server was given
// up for missing. Until then nothing is started or said again.
func TestCommandThatAppearsIsStarted(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	looked := make(chan struct{}, 1000)
	b := start(t, func(o *Options) {
		o.Environ = func() []string {
			looked <- struct{}{}
			return []string{"HOME=" + t.TempDir(), "PATH=/usr/bin:" + folder}
		}
	})
	server := helper(t, "s", "ok")
	self := server.Command.Reveal()
	server.Command = mcpconfig.NewSecret("traposd-test-server")
	b.r.Reconcile([]mcpconfig.Server{server})
	b.awaitState("s", StateBackingOff)
	for range 4 {
		<-looked
	}
	if s, n := b.status("s"), b.attempts("s"); n != 1 || s.Restarts != 1 || b.logged("server down") != 1 {
		t.Errorf("%d starts, said %d times, status %+v", n, b.logged("server down"), s)
	}
	if err := os.Symlink(self, filepath.Join(folder, "traposd-test-server")); err != nil {
		t.Fatal(err)
	}
	b.awaitState("s", StateReady)
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
