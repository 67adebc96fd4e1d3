package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	kservice "github.com/kardianos/service"
	"golang.org/x/sys/windows/svc/mgr"
)

// Pauses before the service control manager starts a failed service again; the last one repeats. They begin anew after a day
// without a failure.
var recoveryDelays = []time.Duration{5 * time.Second, 30 * time.Second, time.Minute}

const (
	recoveryReset = 24 * 60 * 60 // seconds

	// virtualAccount is one that Windows makes for the service by itself: no password, and no rights but its own.
	virtualAccount = `NT SERVICE\` + Name
)

// Manager drives traposd below the service control manager.
type Manager struct {
	base
	run func(ctx context.Context, name string, args ...string) (string, error)
}

// New returns the manager of the machine's service. It fails with ErrRefused for a user's own: Windows has none.
func New(system bool, dir string) (*Manager, error) {
	if !system {
		return nil, fmt.Errorf("%w: Windows has no services of a user: give --system in an administrator's console, or have a task of yours run `traposd run` at logon", ErrRefused)
	}
	return &Manager{base: base{system, dir}, run: runCommand}, nil
}

// Root is the standard configuration folder of the machine's service.
func Root() string { return filepath.Join(programData(), Name) }

func programData() string {
	if dir := os.Getenv("ProgramData"); dir != "" {
		return dir
	}
	return `C:\ProgramData`
}

// SystemDirs are the folders of the machine's service.
func SystemDirs() (config, state, runtime string) {
	return Root(), filepath.Join(Root(), "state"), filepath.Join(Root(), "run")
}

// DefaultAccount is the user that the machine's service runs as.
const DefaultAccount = virtualAccount

// definition is the service as kardianos/service knows it. Its environment goes to the registry, which everybody can read:
// of secrets it has the files' names.
func (m *Manager) definition(spec Spec) (kservice.Service, error) {
	_, _, runtime := SystemDirs()
	vars := map[string]string{"TRAPOS_RUNTIME_DIR": runtime}
	for _, v := range spec.environment() {
		vars[v.Name] = v.Value
	}
	for _, name := range spec.Secrets {
		vars[name+"_FILE"] = filepath.Join(spec.SecretsDir, name)
	}
	return kservice.New(nothing{}, &kservice.Config{
		Name: Name, DisplayName: Name, Description: description, Executable: spec.Program, Arguments: spec.arguments(),
		UserName: spec.Account, EnvVars: vars,
		Option: kservice.KeyValue{"DelayedAutoStart": true, "StartType": "automatic"},
	})
}

// Files are what Install registers, in words: Windows keeps it in the registry.
func (m *Manager) Files(spec Spec) ([]File, error) {
	if err := m.complete(&spec); err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "program    %q %q\naccount    %s\nstart      automatic, delayed\nrecovery   restart after %v, then %v, then %v\n",
		spec.Program, spec.arguments(), spec.Account, recoveryDelays[0], recoveryDelays[1], recoveryDelays[2])
	for _, v := range spec.environment() {
		fmt.Fprintf(&b, "variable   %s=%s\n", v.Name, v.Value)
	}
	return []File{{Name: `HKLM\SYSTEM\CurrentControlSet\Services\` + Name, Text: b.String()}}, nil
}

func (m *Manager) complete(spec *Spec) error {
	spec.System, spec.SecretsDir = m.system, m.secretsDir()
	return spec.check()
}

// Install makes the service be as spec and opts say. The registration is made anew each time; the program and what it keeps
// are not touched by that.
func (m *Manager) Install(ctx context.Context, spec Spec, opts Options) (out Outcome, err error) {
	if err := m.complete(&spec); err != nil {
		return out, err
	}
	before, err := ReadRecord(m.dir)
	if err != nil {
		return out, err
	}
	was, err := m.State(ctx)
	if err != nil {
		return out, err
	}
	config, state, runtime := SystemDirs()
	for _, dir := range []string{config, state, runtime, spec.ConfigDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return out, fmt.Errorf("a folder of the service cannot be made: %w", err)
		}
	}
	if err := m.storeSecrets(&spec, opts, &out); err != nil {
		return out, err
	}
	if err := m.register(ctx, spec, was); err != nil {
		return out, err
	}
	out.Notes = append(out.Notes, "registered the service "+Name)
	if err := m.protect(ctx, spec); err != nil {
		return out, err
	}
	if err := out.write(filepath.Join(m.dir, recordName), m.record(spec, before).encode(), 0o600); err != nil {
		return out, err
	}
	if was.Up() || opts.Start {
		out.Started = true
		return out, m.Start(ctx)
	}
	return out, nil
}

func (m *Manager) register(ctx context.Context, spec Spec, was State) error {
	if was.Installed {
		if was.Up() {
			if err := m.Stop(ctx); err != nil {
				return err
			}
		}
		old, err := m.definition(Spec{})
		if err != nil {
			return err
		}
		if err := old.Uninstall(); err != nil {
			return err
		}
	}
	s, err := m.definition(spec)
	if err != nil {
		return err
	}
	if err := s.Install(); err != nil {
		return fmt.Errorf("registering the service, which takes an administrator: %w", err)
	}
	return setRecovery()
}

// setRecovery has Windows start the service again also when it ends by itself with an error, which kardianos/service leaves
// out: without that flag only a crash counts.
func setRecovery() error {
	scm, err := mgr.Connect()
	if err != nil {
		return err
	}
	defer func() { _ = scm.Disconnect() }()
	s, err := scm.OpenService(Name)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	var actions []mgr.RecoveryAction
	for _, delay := range recoveryDelays {
		actions = append(actions, mgr.RecoveryAction{Type: mgr.ServiceRestart, Delay: delay})
	}
	if err := s.SetRecoveryActions(actions, recoveryReset); err != nil {
		return err
	}
	return s.SetRecoveryActionsOnNonCrashFailures(true)
}

// protect closes our folder to all but administrators, the system, and the service's account, which may change its own
// state. The numbers are the well-known ones, since the names are translated.
func (m *Manager) protect(ctx context.Context, spec Spec) error {
	_, state, runtime := SystemDirs()
	for _, args := range [][]string{
		{m.dir, "/inheritance:r", "/grant:r", "*S-1-5-18:(OI)(CI)F", "*S-1-5-32-544:(OI)(CI)F", spec.Account + ":(OI)(CI)RX"},
		{state, "/grant", spec.Account + ":(OI)(CI)M"},
		{runtime, "/grant", spec.Account + ":(OI)(CI)M"},
	} {
		if _, err := m.run(ctx, "icacls", args...); err != nil {
			return err
		}
	}
	return nil
}

// Uninstall stops the service and removes its registration; with purge, also its configuration, secrets and state.
func (m *Manager) Uninstall(ctx context.Context, purge bool) (out Outcome, err error) {
	was, err := m.State(ctx)
	if err != nil {
		return out, err
	}
	if !was.Installed && !purge {
		return out, notInstalled(true)
	}
	if was.Up() {
		if err := m.Stop(ctx); err != nil {
			return out, err
		}
	}
	if was.Installed {
		s, err := m.definition(Spec{})
		if err != nil {
			return out, err
		}
		if err := s.Uninstall(); err != nil {
			return out, err
		}
		out.Notes = append(out.Notes, "removed the service "+Name)
	}
	if !purge {
		out.Kept, out.Notes = append(out.Kept, m.dir), append(out.Notes, keptNote)
		return out, nil
	}
	_, state, runtime := SystemDirs()
	for _, tree := range []string{m.secretsDir(), state, runtime, filepath.Join(m.dir, recordName)} {
		if err := out.removeTree(tree); err != nil {
			return out, err
		}
	}
	return out, out.purgeConfig(m.dir)
}

// State asks the service control manager.
func (m *Manager) State(context.Context) (State, error) {
	s, err := m.definition(Spec{})
	if err != nil {
		return State{}, err
	}
	status, err := s.Status()
	if errors.Is(err, kservice.ErrNotInstalled) {
		return State{Active: Stopped}, nil
	}
	if err != nil {
		return State{}, err
	}
	if status == kservice.StatusRunning {
		return State{Installed: true, Enabled: true, Active: Running}, nil
	}
	return State{Installed: true, Enabled: true, Active: Stopped}, nil
}

// Start starts the service.
func (m *Manager) Start(ctx context.Context) error {
	return m.drive(ctx, func(s kservice.Service) error { return s.Start() })
}

// Stop stops the service and waits for it.
func (m *Manager) Stop(ctx context.Context) error {
	return m.drive(ctx, func(s kservice.Service) error { return s.Stop() })
}

// Restart stops and starts the service.
func (m *Manager) Restart(ctx context.Context) error {
	return m.drive(ctx, func(s kservice.Service) error { return s.Restart() })
}

func (m *Manager) drive(ctx context.Context, action func(kservice.Service) error) error {
	state, err := m.State(ctx)
	if err != nil {
		return err
	}
	if !state.Installed {
		return notInstalled(true)
	}
	s, err := m.definition(Spec{})
	if err != nil {
		return err
	}
	return action(s)
}

// LogHint is the command that shows the service's log.
func (m *Manager) LogHint() string {
	return "Get-WinEvent -ProviderName " + Name
}

// Hints are none.
func (m *Manager) Hints() []string { return nil }

// nothing is a program of kardianos/service that is never run.
type nothing struct{}

func (nothing) Start(kservice.Service) error { return nil }
func (nothing) Stop(kservice.Service) error  { return nil }
