package mcpconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// maxFileBytes bounds a configuration file.
const maxFileBytes = 4 << 20

// errIrregular refuses what a read could wait for, or never see the end of.
var errIrregular = errors.New("not a regular file: a folder, a device or a pipe cannot be read as configuration")

// readFile reads a regular file of at most limit bytes. It never waits: what is not a regular file is not read, and a
// pipe that takes the file's place is opened without blocking. Errors do not repeat the path; errors.Is finds
// fs.ErrNotExist.
func readFile(path string, limit int64, privileged bool) ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, pathless(err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errIrregular
	}
	file, err := openFile(path)
	if err != nil {
		return nil, nil, pathless(err)
	}
	defer func() { _ = file.Close() }()
	if info, err = file.Stat(); err != nil {
		return nil, nil, pathless(err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errIrregular
	}
	if privileged {
		if err := checkTrust(path, info); err != nil {
			return nil, info, err
		}
	}
	if info.Size() > limit {
		return nil, info, tooLarge(limit)
	}
	var content bytes.Buffer
	content.Grow(int(info.Size()) + bytes.MinRead) // so that it is read without growing
	if _, err := content.ReadFrom(io.LimitReader(file, limit+1)); err != nil {
		return nil, info, pathless(err)
	}
	if int64(content.Len()) > limit {
		return nil, info, tooLarge(limit)
	}
	return content.Bytes(), info, nil
}

func tooLarge(limit int64) error {
	return fmt.Errorf("too large: at most %d MiB are read", limit>>20)
}

// pathless rewords an error of package os without the path in it, which may itself be a value of a file.
func pathless(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fs.ErrNotExist
	case errors.Is(err, fs.ErrPermission):
		return errors.New("no permission to read it: let the service's user read the file")
	case errors.Is(err, syscall.ELOOP):
		return errors.New("a loop of symbolic links")
	}
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("cannot be read: %w", pathError.Err)
	}
	return errors.New("cannot be read")
}
