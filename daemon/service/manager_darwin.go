package service

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Manager drives traposd below launchd.
type Manager struct{ launchd }

// New returns the manager of this user's agent, or of the machine's daemon. dir is the standard configuration folder of
// that scope.
func New(system bool, dir string) (*Manager, error) {
	l := launchd{base: base{system, dir}, run: runCommand, pause: 100 * time.Millisecond}
	if system {
		if os.Getuid() != 0 {
			return nil, fmt.Errorf("%w: the machine's service is root's to change: use sudo, or leave --system out", ErrRefused)
		}
		l.plistDir, l.logDir, l.domains = "/Library/LaunchDaemons", "/Library/Logs/"+Name, []string{"system"}
		return &Manager{l}, nil
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return nil, fmt.Errorf("%w: this user has no home folder to install a service in", ErrRefused)
	}
	uid := strconv.Itoa(os.Getuid())
	l.plistDir, l.logDir = filepath.Join(home, "Library", "LaunchAgents"), filepath.Join(home, "Library", "Logs", Name)
	l.domains = []string{"gui/" + uid, "user/" + uid}
	return &Manager{l}, nil
}

// Root is the standard configuration folder of the machine's service.
func Root() string { return "/Library/Application Support/" + Name }

// SystemDirs are the folders of the machine's service.
func SystemDirs() (config, state, runtime string) {
	return Root(), Root() + "/state", Root() + "/state/run"
}

// DefaultAccount is empty: macOS has no command that makes an account for a service, so that one must be given.
const DefaultAccount = ""
