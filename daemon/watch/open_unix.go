//go:build unix

package watch

import (
	"os"
	"syscall"
)

// openFile opens for reading without ever waiting for a writer (should the path have become a pipe since it was looked at) nor
// taking a terminal.
func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
}
