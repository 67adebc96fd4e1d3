package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// bootoutWait bounds the wait for a job to be gone: launchctl bootout may return before that, and launchd kills what is
// left after exitTimeOut.
const bootoutWait = (exitTimeOut + 10) * time.Second

// launchd drives traposd below launchd: as an agent of the user, or as a daemon of the machine. It uses launchctl's commands
// since OS X 10.10 (bootstrap, bootout, kickstart, print), not the load and unload that kardianos/service knows.
type launchd struct {
	base
	plistDir string
	logDir   string
	domains  []string // in which to look for the job, the best first: gui/501, or user/501 without a graphical login
	run      func(ctx context.Context, name string, args ...string) (string, error)
	pause    time.Duration // between two looks at a job that is going
}

func (l *launchd) plistPath() string { return filepath.Join(l.plistDir, plistName) }

func (l *launchd) complete(spec *Spec) error {
	spec.System, spec.SecretsDir, spec.LogDir = l.system, l.secretsDir(), l.logDir
	if l.system && (spec.Account == "" || spec.Account == "root") {
		return fmt.Errorf("%w: the machine's service does not run as root: make an account for it, and give --account NAME", ErrRefused)
	}
	return spec.check()
}

// makeFolders makes what is missing. An account of its own has to get through those of the machine.
func (l *launchd) makeFolders(spec Spec) error {
	shared := fs.FileMode(0o700)
	if l.system {
		shared = 0o755
	}
	for dir, mode := range map[string]fs.FileMode{l.dir: shared, spec.ConfigDir: shared, l.plistDir: 0o755, spec.StateDir: 0o700, spec.LogDir: 0o700} {
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			return fmt.Errorf("a folder of the service cannot be made: %w", err)
		}
		if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("a folder of the service cannot be made: %w", err)
		}
	}
	return nil
}

// handOver gives an account of its own what it reads and writes: launchd reads no secret for it.
func (l *launchd) handOver(spec Spec) error {
	if !l.system {
		return nil
	}
	u, err := user.Lookup(spec.Account)
	if err != nil {
		return fmt.Errorf("%w: the account %s: %w", ErrRefused, spec.Account, err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return fmt.Errorf("the account %s: %w", spec.Account, err)
	}
	paths := []string{spec.StateDir, spec.LogDir, spec.SecretsDir}
	for _, name := range spec.Secrets {
		paths = append(paths, filepath.Join(spec.SecretsDir, name))
	}
	for _, path := range paths {
		if err := os.Lchown(path, uid, -1); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s cannot be given to the account: %w", path, err)
		}
	}
	return nil
}

// Files are the files that Install writes for spec, with their whole paths; secrets are not among them.
func (l *launchd) Files(spec Spec) ([]File, error) {
	if err := l.complete(&spec); err != nil {
		return nil, err
	}
	var err error
	if spec.Secrets, err = l.Secrets().stored(); err != nil {
		return nil, err
	}
	if len(spec.Secrets) == 0 && spec.Gateway != "" {
		spec.Secrets = []string{SecretPassword} // that it will have: nothing is installed without
	}
	file := spec.plist()
	file.Name = l.plistPath()
	return []File{file}, nil
}

// Install makes the service be as spec and opts say; see the Manager of Linux.
func (l *launchd) Install(ctx context.Context, spec Spec, opts Options) (out Outcome, err error) {
	if err := l.complete(&spec); err != nil {
		return out, err
	}
	before, err := ReadRecord(l.dir)
	if err != nil {
		return out, err
	}
	was, err := l.State(ctx)
	if err != nil {
		return out, err
	}
	if err := l.makeFolders(spec); err != nil {
		return out, err
	}
	if err := l.storeSecrets(&spec, opts, &out); err != nil {
		return out, err
	}
	if err := l.handOver(spec); err != nil {
		return out, err
	}
	plist := spec.plist()
	if err := out.write(l.plistPath(), []byte(plist.Text), fs.FileMode(plist.Mode)); err != nil {
		return out, err
	}
	changed := len(out.Wrote) > 0
	if err := out.write(filepath.Join(l.dir, recordName), l.record(spec, before).encode(), 0o600); err != nil {
		return out, err
	}
	switch {
	case !opts.Start && was.Up() && changed:
		out.Notes = append(out.Notes, "the running service is still the old one: `traposd restart` brings in the new one")
		return out, nil
	case !opts.Start || was.Up() && !changed && before != nil && before.Program == spec.Program:
		return out, nil
	}
	out.Started = true
	return out, l.Restart(ctx)
}

// Uninstall ends the service and removes its definition; with purge, also its configuration, secrets, state and log.
func (l *launchd) Uninstall(ctx context.Context, purge bool) (out Outcome, err error) {
	record, err := ReadRecord(l.dir)
	if err != nil {
		return out, err
	}
	state, err := l.State(ctx)
	if err != nil {
		return out, err
	}
	if !state.Installed && !purge {
		return out, notInstalled(l.system)
	}
	if err := l.bootout(ctx); err != nil {
		return out, err
	}
	if err := out.remove(l.plistPath()); err != nil {
		return out, err
	}
	if !purge {
		out.Kept, out.Notes = append(out.Kept, l.dir), append(out.Notes, keptNote)
		return out, nil
	}
	trees := []string{l.secretsDir(), l.logDir, filepath.Join(l.dir, recordName)}
	if record != nil && below(l.dir, record.StateDir) && record.StateDir != l.dir {
		trees = append(trees, record.StateDir)
	}
	for _, tree := range trees {
		if err := out.removeTree(tree); err != nil {
			return out, err
		}
	}
	if record != nil && record.ConfigDir != l.dir {
		out.Kept = append(out.Kept, record.ConfigDir) // somebody's choice, and perhaps not for us alone
	}
	return out, out.purgeConfig(l.dir)
}

// State asks launchd how the job is (launchctl print, whose form Apple does not promise: what is not found counts as
// unknown).
func (l *launchd) State(ctx context.Context) (State, error) {
	state := State{Active: Stopped}
	if _, err := os.Stat(l.plistPath()); err == nil {
		state.Installed, state.Enabled = true, true
	} else if !errors.Is(err, fs.ErrNotExist) {
		return state, err
	}
	text, _, loaded := l.print(ctx)
	if !loaded {
		return state, nil
	}
	return parsePrint(text, state), nil
}

// print is what launchd says of the job, and the domain that has it.
func (l *launchd) print(ctx context.Context) (text, domain string, loaded bool) {
	for _, domain := range l.domains {
		if text, err := l.run(ctx, "launchctl", "print", domain+"/"+Label); err == nil {
			return text, domain, true
		}
	}
	return "", "", false
}

func parsePrint(text string, state State) State {
	depth := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch { // what is nested is about the job's sockets and the like
		case strings.HasSuffix(line, "{"):
			depth++
			continue
		case line == "}":
			depth--
			continue
		case depth != 1:
			continue
		}
		key, value, _ := strings.Cut(line, " = ")
		switch key {
		case "state":
			if value == "running" {
				state.Active = Running
			}
		case "pid":
			state.PID, _ = strconv.Atoi(value)
		case "last exit code":
			code, _, _ := strings.Cut(value, ":") // the word behind it is what launchd makes of it
			state.ExitCode, _ = strconv.Atoi(code)
		}
	}
	if state.Active == Running {
		state.ExitCode = 0
	} else if state.ExitCode != 0 {
		state.Active = Failed
	}
	return state
}

// Start has launchd load the definition, which starts the job; one that is loaded already is started.
func (l *launchd) Start(ctx context.Context) error {
	if _, err := os.Stat(l.plistPath()); err != nil {
		return notInstalled(l.system)
	}
	if _, domain, loaded := l.print(ctx); loaded {
		_, err := l.run(ctx, "launchctl", "kickstart", domain+"/"+Label)
		return err
	}
	var errs []error
	for _, domain := range l.domains {
		_, _ = l.run(ctx, "launchctl", "enable", domain+"/"+Label) // in case that it was disabled once
		_, err := l.run(ctx, "launchctl", "bootstrap", domain, l.plistPath())
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Stop ends the job until it is started again, or until the next login: launchd loads what is in its folders then.
func (l *launchd) Stop(ctx context.Context) error {
	if _, err := os.Stat(l.plistPath()); err != nil {
		return notInstalled(l.system)
	}
	return l.bootout(ctx)
}

// Restart loads the definition anew, since launchd keeps what it read when it was loaded.
func (l *launchd) Restart(ctx context.Context) error {
	if _, err := os.Stat(l.plistPath()); err != nil {
		return notInstalled(l.system)
	}
	if err := l.bootout(ctx); err != nil {
		return err
	}
	return l.Start(ctx)
}

// bootout ends the job, if there is one, and waits until it is gone.
func (l *launchd) bootout(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, bootoutWait)
	defer cancel()
	_, domain, loaded := l.print(ctx)
	if !loaded {
		return nil
	}
	_, err := l.run(ctx, "launchctl", "bootout", domain+"/"+Label) // fails also while it is under way
	tick := time.NewTicker(l.pause)
	defer tick.Stop()
	for {
		if _, _, loaded := l.print(ctx); !loaded && ctx.Err() == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(errors.New("launchd does not let go of the service"), err)
		}
	}
}

// LogHint is the command that shows the service's log.
func (l *launchd) LogHint() string {
	return "tail -F '" + l.logDir + "/" + Name + ".log'"
}

// Hints are none.
func (l *launchd) Hints() []string { return nil }
