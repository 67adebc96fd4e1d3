package service

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	kservice "github.com/kardianos/service"

	"github.com/traposd/traposd/mcpconfig"
)

// systemdStub is a user's systemd that knows one service, and kardianos/service's back end for it.
type systemdStub struct {
	t          *testing.T
	unitDir    string
	calls      []string
	active     string // ActiveState of the service
	status     string // ExecMainStatus, if it is failed
	installErr error  // of Install, which has left an empty unit behind by then, as kardianos/service does
	startErr   error
}

func newManager(t *testing.T) (*Manager, *systemdStub) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	stub := &systemdStub{t: t, unitDir: filepath.Join(dir, "units"), active: "inactive"}
	m := &Manager{base: base{dir: filepath.Join(dir, "config")}, unitDir: stub.unitDir, booted: dir, lingers: filepath.Join(dir, "linger"), run: stub.run}
	m.backend = func(text string) (kservice.Service, error) { return &backendStub{stub: stub, text: text}, nil }
	return m, stub
}

func (s *systemdStub) run(_ context.Context, name string, args ...string) (string, error) {
	call := name + " " + strings.Join(args, " ")
	switch {
	case strings.Contains(call, "--version"):
		return "systemd 252 (252.1)\n", nil
	case strings.Contains(call, " show "):
		load := "not-found"
		if info, err := os.Stat(filepath.Join(s.unitDir, unitService)); err == nil && info.Size() > 0 {
			load = "loaded"
		}
		show := "LoadState=" + load + "\nActiveState=" + s.active + "\nMainPID=0\nUnitFileState=enabled\n"
		if s.active == "failed" {
			show += "Result=exit-code\nExecMainCode=1\nExecMainStatus=" + s.status + "\n"
		}
		return show, nil
	}
	s.calls = append(s.calls, call)
	return "", nil
}

// took returns the calls since the last time.
func (s *systemdStub) took() []string {
	calls := slices.DeleteFunc(s.calls, func(call string) bool { return strings.Contains(call, "reset-failed") })
	s.calls = nil
	return calls
}

func (s *systemdStub) expect(want ...string) {
	s.t.Helper()
	if got := s.took(); !slices.Equal(got, want) {
		s.t.Errorf("calls\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

type backendStub struct {
	kservice.Service
	stub *systemdStub
	text string
}

func (b *backendStub) Install() error {
	b.stub.calls = append(b.stub.calls, "install")
	path := filepath.Join(b.stub.unitDir, unitService)
	if err := b.stub.installErr; err != nil {
		return errors.Join(err, os.WriteFile(path, nil, 0o600))
	}
	return errors.Join(os.WriteFile(path, []byte(b.text), 0o600), os.Chmod(path, 0o644))
}

func (b *backendStub) Uninstall() error {
	b.stub.calls = append(b.stub.calls, "uninstall")
	return os.Remove(filepath.Join(b.stub.unitDir, unitService))
}

func (b *backendStub) Start() error {
	b.stub.calls = append(b.stub.calls, "start")
	if b.stub.startErr != nil {
		b.stub.active = "failed"
		return b.stub.startErr
	}
	b.stub.active = "active"
	return nil
}

func (b *backendStub) Stop() error {
	b.stub.calls = append(b.stub.calls, "stop")
	b.stub.active = "inactive"
	return nil
}

func (b *backendStub) Restart() error {
	b.stub.calls = append(b.stub.calls, "restart")
	b.stub.active = "active"
	return nil
}

func testSpec(m *Manager) Spec {
	return Spec{
		Program: "/usr/bin/traposd", ConfigDir: m.dir, StateDir: filepath.Join(filepath.Dir(m.dir), Name), LogDir: "/l",
		MCPAddr: "127.0.0.1:4445", Gateway: "127.0.0.1:4444",
	}
}

func testOptions() Options {
	return Options{Secrets: map[string]mcpconfig.Secret{SecretPassword: mcpconfig.NewSecret(canary)}, Start: true}
}

const (
	callStopSockets = "systemctl --user stop traposd-mcp.socket traposd-gateway.socket"
	callReload      = "systemctl --user daemon-reload"
	callEnable      = "systemctl --user enable traposd.service"
)

func TestInstallTwiceChangesNothing(t *testing.T) {
	m, stub := newManager(t)
	out, err := m.Install(t.Context(), testSpec(m), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if !out.Started || len(out.Wrote) != 5 || len(out.Unchanged) != 0 {
		t.Errorf("first: %+v", out)
	}
	stub.expect("install", "start")
	secret := filepath.Join(m.dir, "secrets", SecretPassword)
	for path, mode := range map[string]os.FileMode{secret: 0o600, filepath.Dir(secret): os.ModeDir | 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	if err := filepath.WalkDir(filepath.Dir(m.dir), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && path != secret {
			var data []byte
			if data, err = os.ReadFile(path); strings.Contains(string(data), canary) {
				t.Errorf("%s holds the secret", path)
			}
		}
		return err
	}); err != nil {
		t.Error(err)
	}

	out, err = m.Install(t.Context(), testSpec(m), testOptions())
	if err != nil || out.Started || len(out.Wrote) != 0 || len(out.Unchanged) != 4 {
		t.Errorf("second: %+v %v", out, err)
	}
	stub.expect()
}

func TestInstallUpgradesInPlace(t *testing.T) {
	m, stub := newManager(t)
	if _, err := m.Install(t.Context(), testSpec(m), testOptions()); err != nil {
		t.Fatal(err)
	}
	stub.took()
	spec := testSpec(m)
	spec.Gateway, spec.Variables = "", []Variable{{"TRAPOS_GATEWAY_ADDR", "off"}}
	out, err := m.Install(t.Context(), spec, Options{})
	if err != nil || out.Started || len(out.Notes) != 1 || !strings.Contains(out.Notes[0], "traposd restart") {
		t.Errorf("without --now: %+v %v", out, err)
	}
	stub.expect("systemctl --user disable --now "+unitGateway, callReload, callEnable)
	if _, err := os.Stat(filepath.Join(m.unitDir, unitGateway)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the gateway's socket: %v", err)
	}
	unit, err := os.ReadFile(filepath.Join(m.unitDir, unitService))
	if err != nil || !strings.Contains(string(unit), "Environment=TRAPOS_GATEWAY_ADDR=off\n") || strings.Contains(string(unit), unitGateway) {
		t.Errorf("%v\n%s", err, unit)
	}
	out, err = m.Install(t.Context(), testSpec(m), Options{Start: true})
	if err != nil || !out.Started {
		t.Errorf("with --now: %+v %v", out, err)
	}
	stub.expect(callReload, callEnable, callStopSockets, "stop", "start")
	record, err := ReadRecord(m.dir)
	if err != nil || record.Program != "/usr/bin/traposd" || record.Variable("TRAPOS_GATEWAY_ADDR") != "" {
		t.Errorf("the record: %+v %v", record, err)
	}
}

func TestInstallLeavesNoEmptyUnit(t *testing.T) {
	m, stub := newManager(t)
	stub.installErr = errors.New("disk full")
	if _, err := m.Install(t.Context(), testSpec(m), testOptions()); !errors.Is(err, stub.installErr) {
		t.Fatal(err)
	}
	path := filepath.Join(m.unitDir, unitService)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after a failure: %v", err)
	}
	stub.installErr = nil
	if err := os.WriteFile(path, nil, 0o600); err != nil { // of an earlier program
		t.Fatal(err)
	}
	if _, err := m.Install(t.Context(), testSpec(m), testOptions()); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		t.Errorf("an empty unit is written anew: %v", err)
	}
}

func TestUninstallEndsTheProcessAndKeepsWhatIsTheUsers(t *testing.T) {
	m, stub := newManager(t)
	if _, err := m.Install(t.Context(), testSpec(m), testOptions()); err != nil {
		t.Fatal(err)
	}
	stub.took()
	out, err := m.Uninstall(t.Context(), false)
	if err != nil || len(out.Removed) != 3 {
		t.Errorf("%+v %v", out, err)
	}
	stub.expect(callStopSockets, "stop", "uninstall", callReload)
	if secret, err := m.Secrets().Read(SecretPassword); err != nil || secret.Reveal() != canary {
		t.Errorf("the secret is gone: %v", err)
	}
	if _, err := m.Uninstall(t.Context(), false); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("twice: %v", err)
	}
}

func TestPurgeLeavesNothingOfOurs(t *testing.T) {
	m, _ := newManager(t)
	spec := testSpec(m)
	spec.ConfigDir = filepath.Join(filepath.Dir(m.dir), "chosen")
	if _, err := m.Install(t.Context(), spec, testOptions()); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(m.dir, "mcp.json"), filepath.Join(spec.ConfigDir, "mcp.json"), filepath.Join(spec.StateDir, "workspaces.json")} {
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := m.Uninstall(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{m.dir, spec.StateDir} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if !slices.Equal(out.Kept, []string{spec.ConfigDir}) {
		t.Errorf("kept %v", out.Kept)
	}
	if _, err := os.Stat(filepath.Join(spec.ConfigDir, "mcp.json")); err != nil {
		t.Errorf("a file in a folder that somebody chose: %v", err)
	}
}

func TestAServiceThatDoesNotStartSaysWhy(t *testing.T) {
	m, stub := newManager(t)
	stub.startErr, stub.status = errors.New("exit status 1"), "4"
	_, err := m.Install(t.Context(), testSpec(m), testOptions())
	var start *StartError
	if !errors.As(err, &start) || start.State.ExitCode != 4 || !strings.Contains(err.Error(), "an address is in use") || !strings.Contains(err.Error(), "journalctl --user -u traposd") {
		t.Errorf("%v", err)
	}
}

func TestNothingIsWrittenThatCannotBeInstalled(t *testing.T) {
	m, _ := newManager(t)
	spec := testSpec(m)
	spec.StateDir = "/s\nExecStartPre=/bin/true"
	if _, err := m.Install(t.Context(), spec, testOptions()); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	m.booted = filepath.Join(m.dir, "nowhere")
	if _, err := m.Install(t.Context(), testSpec(m), testOptions()); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	if _, err := os.Stat(m.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was written: %v", err)
	}
}

func TestParseState(t *testing.T) {
	for show, want := range map[string]State{
		"LoadState=not-found\nActiveState=inactive\nMainPID=0":                                                             {Active: Stopped},
		"LoadState=loaded\nActiveState=active\nSubState=running\nMainPID=7\nUnitFileState=enabled":                         {Installed: true, Enabled: true, Active: Running, PID: 7},
		"LoadState=loaded\nActiveState=reloading\nSubState=reload\nMainPID=7":                                              {Installed: true, Active: Reloading, PID: 7},
		"LoadState=loaded\nActiveState=deactivating\nSubState=stop-sigterm\nMainPID=7":                                     {Installed: true, Active: Stopping, PID: 7},
		"LoadState=loaded\nActiveState=activating\nSubState=auto-restart\nResult=signal\nExecMainCode=2\nExecMainStatus=9": {Installed: true, Active: Starting, Reason: "signal"},
		"LoadState=loaded\nActiveState=failed\nResult=exit-code\nExecMainCode=1\nExecMainStatus=2":                         {Installed: true, Active: Failed, Reason: "exit-code", ExitCode: 2},
	} {
		if got := parseState(show); got != want {
			t.Errorf("%q: %+v", show, got)
		}
	}
}

func TestLingeringIsOfferedMadeAndTakenBack(t *testing.T) {
	m, stub := newManager(t)
	if hints := m.Hints(); len(hints) != 1 || !strings.Contains(hints[0], "--linger") {
		t.Errorf("hints: %v", hints)
	}
	opts := testOptions()
	opts.Linger = true
	if _, err := m.Install(t.Context(), testSpec(m), opts); err != nil {
		t.Fatal(err)
	}
	if calls := stub.took(); !slices.Contains(calls, "loginctl enable-linger "+userName()) {
		t.Errorf("calls: %v", calls)
	}
	if err := os.Mkdir(m.lingers, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.lingers, userName()), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if hints := m.Hints(); len(hints) != 0 {
		t.Errorf("hints: %v", hints)
	}
	if _, err := m.Install(t.Context(), testSpec(m), opts); err != nil {
		t.Fatal(err)
	}
	stub.took()
	if _, err := m.Uninstall(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if calls := stub.took(); !slices.Contains(calls, "loginctl disable-linger "+userName()) {
		t.Errorf("calls: %v", calls)
	}
}
