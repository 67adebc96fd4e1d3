//go:build unix

package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// FindRuntimeDir is where a command looks for the running service: where this environment says (see RuntimeDir), else where
// an installed service has its control socket. A shell may lack the variable that the user's service manager has (after su,
// from cron), and root may mean the machine's service.
func FindRuntimeDir(getenv func(string) string) (string, error) {
	dir, err := RuntimeDir(getenv)
	if err != nil || getenv("TRAPOS_RUNTIME_DIR") != "" || hasControlSocket(dir) {
		return dir, err
	}
	candidates := []string{filepath.Join("/run/user", strconv.Itoa(os.Getuid()), "traposd"), filepath.Join(os.TempDir(), fmt.Sprintf("traposd-%d", os.Getuid()))}
	if os.Getuid() == 0 {
		candidates = append(candidates, "/run/traposd")
	}
	for _, candidate := range candidates {
		if hasControlSocket(candidate) {
			return candidate, nil
		}
	}
	return dir, nil
}

func hasControlSocket(dir string) bool {
	info, err := os.Lstat(socketPath(dir))
	return err == nil && info.Mode()&os.ModeSocket != 0
}
