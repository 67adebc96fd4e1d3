package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	kservice "github.com/kardianos/service"
)

// Manager drives traposd below systemd: the machine's, or the user's own.
type Manager struct {
	base
	unitDir string

	booted  string // a folder that is there if systemd runs
	lingers string // the folder that has a file for each user whose services run without a login

	// systemctl and the like, and kardianos's service with that text as its unit; tests put their own in place.
	run     func(ctx context.Context, name string, args ...string) (string, error)
	backend func(text string) (kservice.Service, error)
}

// New returns the manager of this user's service, or of the machine's. dir is the standard configuration folder of that
// scope. It fails with ErrRefused where no systemd runs.
func New(system bool, dir string) (*Manager, error) {
	m := &Manager{base: base{system, dir}, unitDir: "/etc/systemd/system", booted: "/run/systemd/system", lingers: "/var/lib/systemd/linger", run: runCommand}
	m.backend = m.kardianos
	if system {
		return m, nil
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return nil, fmt.Errorf("%w: this user has no home folder to install a service in", ErrRefused)
	}
	m.unitDir = filepath.Join(home, ".config", "systemd", "user") // where kardianos/service writes it
	return m, nil
}

// Root is the standard configuration folder of the machine's service.
func Root() string { return "/etc/" + Name }

// SystemDirs are the folders of the machine's service.
func SystemDirs() (config, state, runtime string) {
	return Root(), "/var/lib/" + Name, "/run/" + Name
}

// DefaultAccount is the user that the machine's service runs as.
const DefaultAccount = Name

// Files are the files that Install writes for spec, with their whole paths; secrets are not among them.
func (m *Manager) Files(spec Spec) ([]File, error) {
	if err := m.complete(&spec); err != nil {
		return nil, err
	}
	var err error
	if spec.Secrets, err = m.Secrets().stored(); err != nil {
		return nil, err
	}
	if len(spec.Secrets) == 0 && spec.Gateway != "" {
		spec.Secrets = []string{SecretPassword} // that it will have: nothing is installed without
	}
	files := spec.units()
	for i := range files {
		files[i].Name = filepath.Join(m.unitDir, files[i].Name)
	}
	return files, nil
}

func (m *Manager) complete(spec *Spec) error {
	spec.System, spec.SecretsDir = m.system, m.secretsDir()
	if out, err := m.run(context.Background(), "systemctl", "--version"); err == nil {
		if fields := strings.Fields(out); len(fields) > 1 {
			spec.Systemd, _ = strconv.Atoi(fields[1])
		}
	}
	return spec.check()
}

// available refuses to work without a systemd to work with. For a user's, it finds the manager as a login would.
func (m *Manager) available() error {
	if _, err := os.Stat(m.booted); err != nil {
		return fmt.Errorf("%w: no systemd runs on this machine: have your own supervisor run `traposd run` (`traposd install --dry-run` prints a unit)", ErrRefused)
	}
	if m.system {
		if os.Getuid() != 0 {
			return fmt.Errorf("%w: the machine's service is root's to change: use sudo, or leave --system out", ErrRefused)
		}
		return nil
	}
	if os.Getenv("XDG_RUNTIME_DIR") == "" { // as after su; systemctl and kardianos/service look for it
		dir := "/run/user/" + strconv.Itoa(os.Getuid())
		if _, err := os.Stat(dir); err != nil {
			return fmt.Errorf("%w: no service manager runs for this user: log in, or have root run `loginctl enable-linger %s`, or install with sudo and --system", ErrRefused, userName())
		}
		return os.Setenv("XDG_RUNTIME_DIR", dir)
	}
	return nil
}

// kardianos is the back end that writes, enables and drives the unit. Its templates are kept out of it: the text goes in as
// the one value that its template names, so that nothing in it is read as a template.
func (m *Manager) kardianos(text string) (kservice.Service, error) {
	return kservice.New(nothing{}, &kservice.Config{
		Name: Name, Description: text, Executable: "/bin/true",
		Option: kservice.KeyValue{"UserService": !m.system, "SystemdScript": "{{Description}}"},
	})
}

// nothing is a program of kardianos/service that is never run.
type nothing struct{}

func (nothing) Start(kservice.Service) error { return nil }
func (nothing) Stop(kservice.Service) error  { return nil }

func (m *Manager) systemctl(ctx context.Context, args ...string) (string, error) {
	if !m.system {
		args = append([]string{"--user"}, args...)
	}
	return m.run(ctx, "systemctl", args...)
}

// LogHint is the command that shows the service's log.
func (m *Manager) LogHint() string {
	if m.system {
		return "journalctl -u " + Name
	}
	return "journalctl --user -u " + Name
}

// State asks systemd how the service is. Its answer has a word for each state (systemctl(1), "show"): kardianos/service
// takes one that is reloading or stopping for one that is not installed.
func (m *Manager) State(ctx context.Context) (State, error) {
	if err := m.available(); err != nil && !errors.Is(err, ErrRefused) {
		return State{}, err
	}
	out, err := m.systemctl(ctx, "show", unitService, "--property=LoadState,ActiveState,SubState,MainPID,Result,ExecMainStatus,ExecMainCode,UnitFileState")
	if err != nil {
		return State{}, err
	}
	return parseState(out), nil
}

func parseState(show string) State {
	values := map[string]string{}
	for line := range strings.Lines(show) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[key] = value
	}
	s := State{Installed: values["LoadState"] == "loaded" || values["LoadState"] == "bad-setting"}
	s.Enabled = values["UnitFileState"] == "enabled"
	s.PID, _ = strconv.Atoi(values["MainPID"])
	switch values["ActiveState"] {
	case "active":
		s.Active = Running
	case "reloading":
		s.Active = Reloading
	case "activating":
		s.Active = Starting
	case "deactivating":
		s.Active = Stopping
	case "failed":
		s.Active = Failed
	default:
		s.Active = Stopped
	}
	if s.Active == Failed || values["SubState"] == "auto-restart" {
		s.Reason = values["Result"]
		if values["ExecMainCode"] == "1" { // CLD_EXITED
			s.ExitCode, _ = strconv.Atoi(values["ExecMainStatus"])
		}
	}
	return s
}

// Start starts the service and returns when it can be used. The sockets are pulled in by it.
func (m *Manager) Start(ctx context.Context) error {
	return m.drive(ctx, func(s kservice.Service) error { return s.Start() })
}

// Restart stops and starts the service; its sockets stay bound, so that whoever connects meanwhile waits.
func (m *Manager) Restart(ctx context.Context) error {
	return m.drive(ctx, func(s kservice.Service) error { return s.Restart() })
}

func (m *Manager) drive(ctx context.Context, action func(kservice.Service) error) error {
	s, err := m.installed(ctx)
	if err != nil {
		return err
	}
	// A service that failed often is not started again before this.
	_, _ = m.systemctl(ctx, append([]string{"reset-failed"}, allUnits()...)...)
	if err := action(s); err != nil {
		state, stateErr := m.State(ctx)
		if stateErr != nil {
			return errors.Join(err, stateErr)
		}
		return &StartError{State: state, Hint: m.LogHint()}
	}
	return nil
}

// Stop stops the service and its sockets, which would start it again at the next connection; they go first.
func (m *Manager) Stop(ctx context.Context) error {
	s, err := m.installed(ctx)
	if err != nil {
		return err
	}
	if err := m.stopSockets(ctx); err != nil {
		return err
	}
	return s.Stop()
}

func (m *Manager) stopSockets(ctx context.Context) error {
	var there []string
	for _, unit := range allUnits()[1:] {
		if _, err := os.Stat(filepath.Join(m.unitDir, unit)); err == nil {
			there = append(there, unit)
		}
	}
	if len(there) == 0 {
		return nil
	}
	_, err := m.systemctl(ctx, append([]string{"stop"}, there...)...)
	return err
}

func (m *Manager) installed(ctx context.Context) (kservice.Service, error) {
	if err := m.available(); err != nil {
		return nil, err
	}
	state, err := m.State(ctx)
	if err != nil {
		return nil, err
	}
	if !state.Installed {
		return nil, notInstalled(m.system)
	}
	return m.backend("")
}

func allUnits() []string { return []string{unitService, unitMCP, unitGateway} }
