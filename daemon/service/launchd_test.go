package service

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/traposd/traposd/mcpconfig"
)

// launchdStub is a launchd without a graphical login: the domain gui/501 does not exist.
type launchdStub struct {
	t      *testing.T
	calls  []string
	loaded bool
	going  int // how often the job is still there after a bootout
	exit   string
}

func (s *launchdStub) run(_ context.Context, name string, args ...string) (string, error) {
	call := name + " " + strings.Join(args, " ")
	if strings.Contains(call, "gui/501") {
		return "", errors.New("launchctl: Domain does not support specified action")
	}
	switch args[0] {
	case "print":
		if s.going > 0 {
			s.going--
			return "user/501/x = {\n\tstate = running\n}\n", nil
		}
		if !s.loaded {
			return "", errors.New("Could not find service")
		}
		if s.exit != "" {
			return "user/501/x = {\n\tstate = not running\n\tlast exit code = " + s.exit + "\n}\n", nil
		}
		return "user/501/x = {\n\tstate = running\n\tendpoints = {\n\t\tstate = odd\n\t}\n\tpid = 77\n\tlast exit code = 2\n}\n", nil
	case "bootstrap":
		s.loaded = true
	case "bootout":
		s.loaded, s.going = false, 2
	}
	s.calls = append(s.calls, call)
	return "", nil
}

func (s *launchdStub) expect(want ...string) {
	s.t.Helper()
	if !slices.Equal(s.calls, want) {
		s.t.Errorf("calls\n  %s\nwant\n  %s", strings.Join(s.calls, "\n  "), strings.Join(want, "\n  "))
	}
	s.calls = nil
}

func newLaunchd(t *testing.T) (*launchd, *launchdStub, Spec) {
	t.Helper()
	dir := t.TempDir()
	stub := &launchdStub{t: t}
	l := &launchd{
		base:     base{dir: filepath.Join(dir, "Application Support", Name)},
		plistDir: filepath.Join(dir, "LaunchAgents"), logDir: filepath.Join(dir, "Logs", Name),
		domains: []string{"gui/501", "user/501"}, run: stub.run, pause: time.Millisecond,
	}
	return l, stub, Spec{
		Program: "/usr/local/bin/traposd", ConfigDir: l.dir, StateDir: filepath.Join(l.dir, "state"),
		MCPAddr: "127.0.0.1:4445", Gateway: "127.0.0.1:4444",
	}
}

func TestLaunchdLife(t *testing.T) {
	l, stub, spec := newLaunchd(t)
	if err := l.Start(t.Context()); !errors.Is(err, ErrNotInstalled) {
		t.Error(err)
	}
	opts := Options{Secrets: map[string]mcpconfig.Secret{SecretPassword: mcpconfig.NewSecret(canary)}, Start: true}
	out, err := l.Install(t.Context(), spec, opts)
	if err != nil || !out.Started || len(out.Wrote) != 3 {
		t.Fatalf("%+v %v", out, err)
	}
	const job = "user/501/" + Label
	stub.expect("launchctl enable "+job, "launchctl bootstrap user/501 "+l.plistPath())
	plist, err := os.ReadFile(l.plistPath())
	if info, statErr := os.Stat(l.plistPath()); err != nil || statErr != nil || info.Mode() != 0o600 {
		t.Errorf("the property list: %v %v", err, statErr)
	}
	if strings.Contains(string(plist), canary) || !strings.Contains(string(plist), l.logDir) {
		t.Errorf("%s", plist)
	}
	if state, err := l.State(t.Context()); err != nil || state != (State{Installed: true, Enabled: true, Active: Running, PID: 77}) {
		t.Errorf("%+v %v", state, err)
	}
	if out, err := l.Install(t.Context(), spec, opts); err != nil || out.Started || len(out.Wrote) != 0 {
		t.Errorf("again: %+v %v", out, err)
	}
	stub.expect()
	spec.Variables = []Variable{{"TRAPOS_LOG_LEVEL", "debug"}}
	if out, err := l.Install(t.Context(), spec, Options{}); err != nil || out.Started || len(out.Notes) != 1 {
		t.Errorf("changed: %+v %v", out, err)
	}
	stub.expect()
	if err := l.Restart(t.Context()); err != nil {
		t.Error(err)
	}
	stub.expect("launchctl bootout "+job, "launchctl enable "+job, "launchctl bootstrap user/501 "+l.plistPath())
	stub.exit = "2: No such file or directory"
	if state, err := l.State(t.Context()); err != nil || state.Active != Failed || state.ExitCode != 2 {
		t.Errorf("%+v %v", state, err)
	}
	out, err = l.Uninstall(t.Context(), true)
	if err != nil || stub.loaded {
		t.Errorf("%+v %v", out, err)
	}
	for _, path := range []string{l.dir, l.logDir, l.plistPath()} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := l.Uninstall(t.Context(), false); !errors.Is(err, ErrNotInstalled) {
		t.Error(err)
	}
}

func TestLaunchdDaemonNeedsAnAccount(t *testing.T) {
	l, _, spec := newLaunchd(t)
	l.system = true
	for _, account := range []string{"", "root"} {
		spec.Account = account
		if _, err := l.Install(t.Context(), spec, Options{}); !errors.Is(err, ErrRefused) {
			t.Errorf("%q: %v", account, err)
		}
	}
}
