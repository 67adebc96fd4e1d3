// Package wholefile replaces files whole or not at all: whoever reads one while it is written, or after a crash in the
// middle, finds the old content or the new. Replace may be called concurrently; of two for one file, one wins. It locks
// nothing.
package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace makes the file at path hold data, with exactly that mode whatever the umask is. Its folder has to be there. A link
// at path is replaced, not followed. After an error the file is as it was.
func Replace(path string, data []byte, mode fs.FileMode) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // made 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Chmod(mode)
	}
	if err == nil {
		err = temp.Sync()
	}
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}
