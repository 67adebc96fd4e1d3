package daemon

import (
	"fmt"
	"os"
	"path/filepath"
)

// places follows Apple's File System Programming Guide: what a program writes for itself is under Application Support. The
// control socket is in the user's own temporary folder, whose path stays below the 104 bytes that a socket's may have.
func places(getenv func(string) string) standardPlaces {
	p := standardPlaces{runtime: filepath.Join(os.TempDir(), fmt.Sprintf("traposd-%d", os.Getuid()))}
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		p.config = filepath.Join(dir, "traposd")
	}
	if home := getenv("HOME"); home != "" {
		support := filepath.Join(home, "Library", "Application Support", "traposd")
		p.config = firstOf(p.config, support)
		p.state = filepath.Join(support, "state")
	}
	return p
}
