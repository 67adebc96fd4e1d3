package service

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Install makes the service be as spec and opts say, from whatever there was before: doing it twice changes nothing the
// second time. On an error, what was written stays, and installing again mends it.
func (m *Manager) Install(ctx context.Context, spec Spec, opts Options) (out Outcome, err error) {
	if err := m.available(); err != nil {
		return out, err
	}
	if err := m.complete(&spec); err != nil {
		return out, err
	}
	before, err := ReadRecord(m.dir)
	if err != nil {
		return out, err
	}
	was, err := m.State(ctx) // and nothing is written where it cannot be asked for
	if err != nil {
		return out, err
	}
	record := m.record(spec, before)
	if err := m.prepare(ctx, spec, record, &out); err != nil {
		return out, err
	}
	if err := m.storeSecrets(&spec, opts, &out); err != nil {
		return out, err
	}
	secretsChanged := len(out.Wrote) > 0
	unitsChanged, err := m.writeUnits(ctx, spec, was, &out)
	if err != nil {
		return out, err
	}
	if opts.Linger {
		if err := m.linger(ctx, record, &out); err != nil {
			return out, err
		}
	}
	if err := out.write(filepath.Join(m.dir, recordName), record.encode(), 0o600); err != nil {
		return out, err
	}
	if !opts.Start {
		if was.Up() && (unitsChanged || secretsChanged || m.outdated(was.PID, spec.Program)) {
			out.Notes = append(out.Notes, "the running service is still the old one: `traposd restart` brings in the new one")
		}
		return out, nil
	}
	out.Started, err = m.bringUp(ctx, was, spec, unitsChanged || secretsChanged)
	return out, err
}

// prepare makes what must be there before the units: the account and the folders.
func (m *Manager) prepare(ctx context.Context, spec Spec, record *Record, out *Outcome) error {
	group := -1
	if m.system {
		made, gid, err := m.account(ctx, spec.Account, spec.StateDir)
		if err != nil {
			return err
		}
		group = gid
		if made {
			record.MadeAccount = true
			out.Notes = append(out.Notes, "made the account "+spec.Account)
		}
	}
	for _, dir := range []string{m.dir, spec.ConfigDir} {
		if err := ownFolder(dir, group); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(m.unitDir, 0o755); err != nil {
		return fmt.Errorf("the folder for units cannot be made: %w", err)
	}
	if m.system {
		return nil // systemd makes the others, for the account
	}
	if err := os.MkdirAll(spec.StateDir, 0o700); err != nil {
		return fmt.Errorf("the state folder cannot be made: %w", err)
	}
	return nil
}

// ownFolder makes a configuration folder if it is missing. That of the machine is root's, and its account can look into it.
func ownFolder(dir string, group int) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	mode := fs.FileMode(0o700)
	if group >= 0 {
		mode = 0o750
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("the configuration folder cannot be made: %w", err)
	}
	if err := os.Mkdir(dir, mode); err != nil {
		return fmt.Errorf("the configuration folder cannot be made: %w", err)
	}
	if group < 0 {
		return nil
	}
	if err := os.Chown(dir, 0, group); err != nil {
		return fmt.Errorf("the configuration folder cannot be given to its group: %w", err)
	}
	return nil
}

// writeUnits writes what differs. A first installation is kardianos/service's; it cannot upgrade, and leaves an empty unit
// behind when it fails, which is taken away here. systemd is told only of what is new to it: each time, it reads all units.
func (m *Manager) writeUnits(ctx context.Context, spec Spec, was State, out *Outcome) (changed bool, err error) {
	units := spec.units()
	before := len(out.Wrote) + len(out.Removed)
	for _, unit := range units[1:] {
		if err := out.write(filepath.Join(m.unitDir, unit.Name), []byte(unit.Text), fs.FileMode(unit.Mode)); err != nil {
			return false, err
		}
	}
	if err := m.removeOtherSockets(ctx, units, out); err != nil {
		return false, err
	}
	path := filepath.Join(m.unitDir, unitService)
	if info, statErr := os.Stat(path); statErr != nil || info.Size() == 0 {
		_ = os.Remove(path)
		s, err := m.backend(units[0].Text)
		if err != nil {
			return false, err
		}
		if err := s.Install(); err != nil { // which enables the sockets too, by Also=
			_ = os.Remove(path)
			return false, fmt.Errorf("installing the unit: %w", err)
		}
		out.Wrote = append(out.Wrote, path)
		return true, nil
	}
	if err := out.write(path, []byte(units[0].Text), fs.FileMode(units[0].Mode)); err != nil {
		return false, err
	}
	if changed = len(out.Wrote)+len(out.Removed) > before; !changed && was.Enabled {
		return false, nil
	}
	if _, err := m.systemctl(ctx, "daemon-reload"); err != nil {
		return changed, err
	}
	_, err = m.systemctl(ctx, "enable", unitService)
	return changed, err
}

// removeOtherSockets removes the units of addresses that the service does not have any more.
func (m *Manager) removeOtherSockets(ctx context.Context, units []File, out *Outcome) error {
	for _, unit := range allUnits()[1:] {
		path := filepath.Join(m.unitDir, unit)
		if _, err := os.Stat(path); err != nil || slices.ContainsFunc(units, func(f File) bool { return f.Name == unit }) {
			continue
		}
		if _, err := m.systemctl(ctx, "disable", "--now", unit); err != nil {
			return err
		}
		if err := out.remove(path); err != nil {
			return err
		}
	}
	return nil
}

// bringUp has the service run what is installed now. A socket cannot be bound while the service holds the address itself,
// so that a change begins with a stop.
func (m *Manager) bringUp(ctx context.Context, was State, spec Spec, changed bool) (started bool, err error) {
	if was.Up() {
		if !changed && !m.outdated(was.PID, spec.Program) {
			return false, nil
		}
		if changed {
			if err := m.Stop(ctx); err != nil {
				return false, err
			}
			return true, m.Start(ctx)
		}
		return true, m.Restart(ctx)
	}
	return true, m.Start(ctx)
}

// outdated tells whether the process runs another file than the one that is installed now.
func (m *Manager) outdated(pid int, program string) bool {
	if pid == 0 {
		return false
	}
	running, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return false
	}
	installed, err := os.Stat(program)
	return err == nil && !os.SameFile(running, installed)
}

// linger keeps the user's manager running while they are not logged in.
func (m *Manager) linger(ctx context.Context, record *Record, out *Outcome) error {
	if m.system || m.lingering() {
		return nil
	}
	if _, err := m.run(ctx, "loginctl", "enable-linger", userName()); err != nil {
		return err
	}
	record.MadeLinger = true
	out.Notes = append(out.Notes, "the service runs also while you are not logged in (loginctl enable-linger)")
	return nil
}

// lingering tells whether this user's services run while they are not logged in.
func (m *Manager) lingering() bool {
	_, err := os.Stat(filepath.Join(m.lingers, userName()))
	return err == nil
}

// Uninstall stops the service and removes its units; with purge, also its configuration, secrets, state and account.
func (m *Manager) Uninstall(ctx context.Context, purge bool) (out Outcome, err error) {
	if err := m.available(); err != nil {
		return out, err
	}
	record, err := ReadRecord(m.dir)
	if err != nil {
		return out, err
	}
	state, err := m.State(ctx)
	if err != nil {
		return out, err
	}
	if !state.Installed && !purge {
		return out, notInstalled(m.system)
	}
	if err := m.removeUnits(ctx, state, &out); err != nil {
		return out, err
	}
	if purge {
		return out, m.purge(ctx, record, &out)
	}
	out.Kept = append(out.Kept, m.dir)
	out.Notes = append(out.Notes, keptNote)
	return out, nil
}

func (m *Manager) removeUnits(ctx context.Context, state State, out *Outcome) error {
	if state.Installed {
		if err := m.Stop(ctx); err != nil {
			return err
		}
		s, err := m.backend("")
		if err != nil {
			return err
		}
		if err := s.Uninstall(); err != nil {
			return fmt.Errorf("removing the unit: %w", err)
		}
		out.Removed = append(out.Removed, filepath.Join(m.unitDir, unitService))
	}
	for _, unit := range allUnits() {
		if err := out.remove(filepath.Join(m.unitDir, unit)); err != nil {
			return err
		}
	}
	if _, err := m.systemctl(ctx, "daemon-reload"); err != nil {
		return err
	}
	_, _ = m.systemctl(ctx, append([]string{"reset-failed"}, allUnits()...)...) // what did not fail is an error to it
	return nil
}

// purge removes what an installation and a running service have written.
func (m *Manager) purge(ctx context.Context, record *Record, out *Outcome) error {
	if record == nil {
		record = &Record{}
	}
	trees := []string{m.secretsDir(), filepath.Join(m.dir, recordName)}
	for _, unit := range allUnits() { // changes of one's own
		trees = append(trees, filepath.Join(m.unitDir, unit+".d"))
	}
	config, state, _ := SystemDirs()
	if m.system {
		trees = append(trees, state, "/var/cache/"+Name)
	} else {
		config = m.dir
		if filepath.Base(record.StateDir) == Name {
			trees = append(trees, record.StateDir)
		} else if record.StateDir != "" {
			out.Kept = append(out.Kept, record.StateDir)
		}
	}
	for _, tree := range trees {
		if err := out.removeTree(tree); err != nil {
			return err
		}
	}
	if record.ConfigDir != "" && record.ConfigDir != config {
		out.Kept = append(out.Kept, record.ConfigDir) // somebody's choice, and perhaps not for us alone
	}
	if err := out.purgeConfig(config); err != nil {
		return err
	}
	if record.MadeAccount {
		if _, err := m.run(ctx, "userdel", record.Account); err != nil {
			return err
		}
		out.Notes = append(out.Notes, "removed the account "+record.Account)
	}
	if record.MadeLinger {
		if _, err := m.run(ctx, "loginctl", "disable-linger", userName()); err != nil {
			return err
		}
		out.Notes = append(out.Notes, "your services end with your login again (loginctl disable-linger)")
	}
	return nil
}

func userName() string { return accountOf(syscall.Getuid()) }

// Hints are what may be done beside, for the user that installed.
func (m *Manager) Hints() []string {
	if m.system || m.lingering() {
		return nil
	}
	return []string{"it runs while you are logged in; `traposd install --linger` (loginctl enable-linger) has it run always"}
}
