//go:build unix

package mcpconfig

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// othersMayRead reports whether a file's mode lets anybody but its owner read, write or execute it.
func othersMayRead(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }

func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// checkTrust refuses a file that somebody else than root and the user we run as could have written: by its owner, by its
// mode, or by those of a folder above it, in which it could be replaced (a sticky folder such as /tmp protects what is in
// it). sshd is as strict with the files it is told to trust.
func checkTrust(path string, info fs.FileInfo) error {
	if err := trusted(info, os.Geteuid()); err != nil {
		return err
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return pathless(err)
	}
	for folder := filepath.Dir(resolved); ; folder = filepath.Dir(folder) {
		info, err := os.Stat(folder)
		if err != nil {
			return pathless(err)
		}
		if trusted(info, os.Geteuid()) != nil {
			return errors.New("refused: a folder above it belongs to somebody else or can be written by others, and the service runs privileged: chown root and chmod go-w")
		}
		if folder == filepath.Dir(folder) {
			return nil
		}
	}
}

func trusted(info fs.FileInfo, euid int) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("refused: its owner is not known, and the service runs privileged")
	}
	if stat.Uid != 0 && int(stat.Uid) != euid {
		return errors.New("refused: it belongs to somebody else, and the service runs privileged: chown it to root or to the service's user")
	}
	if info.Mode().Perm()&0o022 != 0 && (!info.IsDir() || info.Mode()&fs.ModeSticky == 0) {
		return errors.New("refused: others can write it, and the service runs privileged: chmod go-w")
	}
	return nil
}
