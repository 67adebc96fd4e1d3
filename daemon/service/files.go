package service

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/traposd/traposd/daemon/wholefile"
)

// replaceFile makes path hold data, whole or not at all, with that mode whatever the umask is; false if it did already. A
// link in its place is replaced, not followed.
func replaceFile(path string, data []byte, mode fs.FileMode) (changed bool, err error) {
	if info, err := os.Lstat(path); err == nil && info.Mode() == mode {
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
			return false, nil
		}
	}
	if err := wholefile.Replace(path, data, mode); err != nil {
		return false, err
	}
	return true, nil
}

// write is replaceFile that keeps account of it.
func (o *Outcome) write(path string, data []byte, mode fs.FileMode) error {
	changed, err := replaceFile(path, data, mode)
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", path, err)
	}
	if changed {
		o.Wrote = append(o.Wrote, path)
	} else {
		o.Unchanged = append(o.Unchanged, path)
	}
	return nil
}

// remove removes one file or empty folder; what is not there is fine, and a folder that holds something is kept.
func (o *Outcome) remove(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.Remove(path)
	}
	switch {
	case err == nil:
		o.Removed = append(o.Removed, path)
	case info != nil && info.IsDir() && !emptyFolder(path):
		o.Kept = append(o.Kept, path)
	default:
		return fmt.Errorf("%s cannot be removed: %w", path, err)
	}
	return nil
}

// removeTree removes a folder of ours with all that is in it.
func (o *Outcome) removeTree(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("%s cannot be removed: %w", path, err)
	}
	o.Removed = append(o.Removed, path)
	return nil
}

// purgeConfig removes our own files of a configuration folder, and the folder if that was all.
func (o *Outcome) purgeConfig(dir string) error {
	for _, name := range ownConfigFiles {
		if err := o.remove(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return o.remove(dir)
}

func emptyFolder(path string) bool {
	entries, err := os.ReadDir(path)
	return err == nil && len(entries) == 0
}
