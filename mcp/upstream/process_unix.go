//go:build unix

package upstream

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
)

// endOf says how a child ended, from what Wait returned.
func endOf(err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "exited (code 0)"
	case !errors.As(err, &exit):
		return "ended"
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Sprintf("was ended by a signal (%v)", status.Signal())
	}
	return fmt.Sprintf("exited (code %d)", exit.ExitCode())
}

// wrapCommand returns what has to be started for a command that was found at path.
func wrapCommand(path string, args []string) (string, []string, error) { return path, args, nil }
