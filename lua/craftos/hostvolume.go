package craftos

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
)

// hostVolume keeps files in a directory of the host. os.Root sees to it that nothing outside is reached, by
// symbolic links neither.
type hostVolume struct{ root *os.Root }

// The computer's disk holds the gateway's password in its `.settings`: it is its owner's alone.
const (
	hostDirMode  = 0o700
	hostFileMode = 0o600
)

func newHostVolume(dir string) (*hostVolume, error) {
	if err := os.MkdirAll(dir, hostDirMode); err != nil {
		return nil, fmt.Errorf("make the computer's directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the computer's directory: %w", err)
	}
	return &hostVolume{root: root}, nil
}

func hostName(path string) string {
	if path == "" {
		return "."
	}
	return filepath.FromSlash(path)
}

// hostReason turns a host error into the words of the game, which also keeps host paths out of it.
func hostReason(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return errNoSuchFile
	case errors.Is(err, fs.ErrExist):
		return errFileExists
	}
	return errAccessDenied
}

func (v *hostVolume) stat(path string) (fileInfo, error) {
	info, err := v.root.Stat(hostName(path))
	if err != nil {
		return fileInfo{}, hostReason(err)
	}
	switch {
	case info.IsDir():
		return fileInfo{dir: true, modified: info.ModTime()}, nil
	case info.Mode().IsRegular():
		return fileInfo{size: info.Size(), modified: info.ModTime()}, nil
	}
	return fileInfo{}, errNoSuchFile // devices and pipes are not files of a computer
}

func (v *hostVolume) list(path string) ([]string, error) {
	dir, err := v.root.Open(hostName(path))
	if err != nil {
		return nil, errNotADir
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, errNotADir
	}
	sort.Strings(names)
	return names, nil
}

func (v *hostVolume) open(path string, create, truncate bool) (file, error) {
	flags := os.O_RDONLY
	if create || truncate {
		flags = os.O_RDWR
	}
	if create {
		flags |= os.O_CREATE
	}
	if truncate {
		flags |= os.O_TRUNC
	}
	f, err := v.root.OpenFile(hostName(path), flags, hostFileMode)
	if err != nil {
		return nil, hostReason(err)
	}
	return hostFile{f}, nil
}

func (v *hostVolume) mkdir(path string) error {
	return hostReason(v.root.Mkdir(hostName(path), hostDirMode))
}

func (v *hostVolume) remove(path string) error {
	return hostReason(v.root.RemoveAll(hostName(path)))
}

func (v *hostVolume) rename(from, to string) error {
	return hostReason(v.root.Rename(hostName(from), hostName(to)))
}

func (v *hostVolume) close() error { return v.root.Close() }

// hostFile is an open file of a hostVolume.
type hostFile struct{ *os.File }

func (f hostFile) ReadAt(p []byte, offset int64) (int, error) {
	n, err := f.File.ReadAt(p, offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func (f hostFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
