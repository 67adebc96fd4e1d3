package service

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/traposd/traposd/mcpconfig"
)

// Options say how to install.
type Options struct {
	Secrets map[string]mcpconfig.Secret // to be stored, by name; others stay as they are
	Start   bool                        // have it run when Install returns, with what was installed
	Linger  bool                        // systemd: run the user's services also while they are not logged in
}

// base is what the managers of all systems have in common.
type base struct {
	system bool
	dir    string // standard configuration folder: the record and the secrets
}

func (b base) secretsDir() string { return filepath.Join(b.dir, "secrets") }

// storeSecrets stores those of opts, names all that there are in spec, and takes those out that are stored and not wanted.
func (b base) storeSecrets(spec *Spec, opts Options, out *Outcome) error {
	for _, name := range []string{SecretPassword, SecretToken} {
		secret, given := opts.Secrets[name]
		if !given {
			continue
		}
		changed, err := b.Secrets().Write(name, secret)
		if err != nil {
			return err
		}
		if changed {
			out.Wrote = append(out.Wrote, spec.SecretsDir+string(os.PathSeparator)+name)
		}
	}
	var err error
	spec.Secrets, err = b.Secrets().stored()
	return err
}

// record is what of spec the next installation has to know.
func (b base) record(spec Spec, before *Record) *Record {
	r := &Record{
		Program: spec.Program, Workspaces: spec.Workspaces, ConfigDir: spec.ConfigDir, StateDir: spec.StateDir,
		Account: spec.Account, Variables: spec.Variables,
	}
	if before != nil {
		r.MadeAccount, r.MadeLinger = before.MadeAccount, before.MadeLinger
	}
	return r
}

// Secrets is where this service's secrets are stored.
func (b base) Secrets() Secrets { return Secrets{b.secretsDir()} }

const keptNote = "configuration, secrets and state are kept for the next install; `traposd uninstall --purge` removes them"

func notInstalled(system bool) error {
	scope := ""
	if system {
		scope = " --system"
	}
	return fmt.Errorf("the service is %w: `traposd install%s` does that", ErrNotInstalled, scope)
}

// ownConfigFiles are the files of a configuration folder that are ours. What else is in it stays, since the folder may be
// somebody's choice.
var ownConfigFiles = []string{"mcp.json", "traposd.json", "environment"}
