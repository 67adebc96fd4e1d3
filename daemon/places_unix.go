//go:build unix && !darwin

package daemon

import (
	"fmt"
	"os"
	"path/filepath"
)

// places follows the XDG Base Directory Specification for a user's service, and systemd.exec(5) (RuntimeDirectory=,
// StateDirectory=, ConfigurationDirectory=) for a system service, which runs as root or with those variables set.
func places(getenv func(string) string) standardPlaces {
	home := getenv("HOME")
	under := func(variable, below string) string {
		if dir := getenv(variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, "traposd")
		}
		if home == "" {
			return ""
		}
		return filepath.Join(home, below, "traposd")
	}
	p := standardPlaces{
		config:  firstOf(getenv("CONFIGURATION_DIRECTORY"), under("XDG_CONFIG_HOME", ".config")),
		state:   firstOf(getenv("STATE_DIRECTORY"), under("XDG_STATE_HOME", filepath.Join(".local", "state"))),
		runtime: getenv("RUNTIME_DIRECTORY"),
	}
	if p.runtime == "" {
		if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
			p.runtime = filepath.Join(dir, "traposd")
		} else {
			// The folder is made 0700 and refused if it belongs to somebody else, so a shared /tmp is no danger.
			p.runtime = filepath.Join(os.TempDir(), fmt.Sprintf("traposd-%d", os.Getuid()))
		}
	}
	return p
}
