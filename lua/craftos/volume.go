package craftos

import (
	"io/fs"
	"sort"
	"strings"
	"time"
)

// Reasons for which a file operation fails.
const (
	errNoSuchFile   gameError = "No such file"
	errNotAFile     gameError = "Not a file"
	errNotADir      gameError = "Not a directory"
	errFileExists   gameError = "File exists"
	errAccessDenied gameError = "Access denied"
	errOutOfSpace   gameError = "Out of space"
	errCannotWrite  gameError = "Cannot write to directory"
	errInvalidPath  gameError = "Invalid Path"
	errInsideItself gameError = "Can't copy a directory inside itself"
)

// fileInfo is what is known about a file or directory.
type fileInfo struct {
	size     int64
	dir      bool
	modified time.Time
}

// file is an open file. ReadAt and WriteAt follow io.ReaderAt and io.WriterAt.
type file interface {
	ReadAt(p []byte, offset int64) (int, error)
	WriteAt(p []byte, offset int64) (int, error)
	Size() (int64, error)
	Close() error
}

// volume stores a disk's files. Paths are clean. It is called under the disk's lock.
type volume interface {
	stat(path string) (fileInfo, error)
	list(path string) ([]string, error) // names, sorted
	open(path string, create, truncate bool) (file, error)
	mkdir(path string) error // the parent exists
	remove(path string) error
	rename(from, to string) error // both parents exist, to does not
	close() error
}

// node is a file or directory of a memoryVolume.
type node struct {
	children map[string]*node // nil for a file
	content  []byte
	modified time.Time
}

// memoryVolume keeps files in memory.
type memoryVolume struct{ root *node }

func newMemoryVolume() *memoryVolume {
	return &memoryVolume{root: &node{children: map[string]*node{}, modified: time.Now()}}
}

func (v *memoryVolume) find(path string) *node {
	n := v.root
	for path != "" && n != nil {
		var part string
		part, path, _ = strings.Cut(path, "/")
		n = n.children[part]
	}
	return n
}

func (v *memoryVolume) stat(path string) (fileInfo, error) {
	n := v.find(path)
	if n == nil {
		return fileInfo{}, errNoSuchFile
	}
	return fileInfo{size: int64(len(n.content)), dir: n.children != nil, modified: n.modified}, nil
}

func (v *memoryVolume) list(path string) ([]string, error) {
	n := v.find(path)
	if n == nil || n.children == nil {
		return nil, errNotADir
	}
	names := make([]string, 0, len(n.children))
	for name := range n.children {
		names = append(names, name)
	}
	sort.Strings(names)
	return names, nil
}

func (v *memoryVolume) open(path string, create, truncate bool) (file, error) {
	n := v.find(path)
	if n == nil {
		if !create {
			return nil, errNoSuchFile
		}
		n = &node{modified: time.Now()}
		v.find(parentPath(path)).children[baseName(path)] = n
	}
	if truncate {
		n.content, n.modified = nil, time.Now()
	}
	return memoryFile{n}, nil
}

func (v *memoryVolume) mkdir(path string) error {
	v.find(parentPath(path)).children[baseName(path)] = &node{children: map[string]*node{}, modified: time.Now()}
	return nil
}

func (v *memoryVolume) remove(path string) error {
	if parent := v.find(parentPath(path)); parent != nil {
		delete(parent.children, baseName(path))
	}
	return nil
}

func (v *memoryVolume) rename(from, to string) error {
	n := v.find(from)
	delete(v.find(parentPath(from)).children, baseName(from))
	v.find(parentPath(to)).children[baseName(to)] = n
	return nil
}

func (v *memoryVolume) close() error { return nil }

// memoryFile is an open file of a memoryVolume. It stays readable after the file is deleted.
type memoryFile struct{ node *node }

func (f memoryFile) ReadAt(p []byte, offset int64) (int, error) {
	if offset >= int64(len(f.node.content)) {
		return 0, nil
	}
	return copy(p, f.node.content[offset:]), nil
}

func (f memoryFile) WriteAt(p []byte, offset int64) (int, error) {
	n := f.node
	if missing := offset - int64(len(n.content)); missing > 0 {
		n.content = append(n.content, make([]byte, missing)...)
	}
	overlap := copy(n.content[offset:], p)
	n.content = append(n.content, p[overlap:]...)
	n.modified = time.Now()
	return len(p), nil
}

func (f memoryFile) Size() (int64, error) { return int64(len(f.node.content)), nil }
func (f memoryFile) Close() error         { return nil }

// readOnlyVolume presents an fs.FS, such as the rom.
type readOnlyVolume struct{ fs fs.FS }

func (v readOnlyVolume) name(path string) string {
	if path == "" {
		return "."
	}
	return path
}

func (v readOnlyVolume) stat(path string) (fileInfo, error) {
	info, err := fs.Stat(v.fs, v.name(path))
	if err != nil {
		return fileInfo{}, errNoSuchFile
	}
	size := info.Size()
	if info.IsDir() {
		size = 0
	}
	return fileInfo{size: size, dir: info.IsDir(), modified: info.ModTime()}, nil
}

func (v readOnlyVolume) list(path string) ([]string, error) {
	entries, err := fs.ReadDir(v.fs, v.name(path))
	if err != nil {
		return nil, errNotADir
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, nil
}

func (v readOnlyVolume) open(path string, create, truncate bool) (file, error) {
	if create || truncate {
		return nil, errAccessDenied
	}
	content, err := fs.ReadFile(v.fs, v.name(path))
	if err != nil {
		return nil, errNoSuchFile
	}
	return memoryFile{&node{content: content}}, nil
}

func (v readOnlyVolume) mkdir(string) error          { return errAccessDenied }
func (v readOnlyVolume) remove(string) error         { return errAccessDenied }
func (v readOnlyVolume) rename(string, string) error { return errAccessDenied }
func (v readOnlyVolume) close() error                { return nil }
