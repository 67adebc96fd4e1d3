package craftos

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
)

// minFileBytes is what a file or a directory takes of the disk at least.
const minFileBytes = 500

// maxDiskDepth bounds the nesting of directories.
const maxDiskDepth = 128

// romDir is where the rom is seen.
const romDir = "rom"

// pathError is a failed operation on a path; CC:Tweaked shows it as "/path: reason".
type pathError struct {
	path   string
	reason error
}

func (e *pathError) Error() string { return "/" + e.path + ": " + e.reason.Error() }
func (e *pathError) Unwrap() error { return e.reason }

func pathFailure(path string, err error) error {
	if err == nil {
		return nil
	}
	return &pathError{path: path, reason: err}
}

// disk is a computer's files: a writable volume with a capacity, and the rom below /rom. Its methods take clean paths
// and may be called from any goroutine.
type disk struct {
	capacity int64

	mu   sync.Mutex
	data volume // guarded by mu
	rom  volume // guarded by mu
	used int64  // guarded by mu
}

func newDisk(dir string, capacity int64) (*disk, error) {
	d := &disk{capacity: capacity, rom: readOnlyVolume{romFS()}, data: newMemoryVolume()}
	if dir == "" {
		return d, nil
	}
	host, err := newHostVolume(dir)
	if err != nil {
		return nil, err
	}
	d.data = host
	d.used = d.measure("", 0)
	return d, nil
}

func (d *disk) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.data.close()
}

// measure adds up what the files below path take.
func (d *disk) measure(path string, depth int) int64 {
	var total int64
	names, err := d.data.list(path)
	if err != nil || depth > maxDiskDepth {
		return 0
	}
	for _, name := range names {
		child := joinPath(path, name)
		info, err := d.data.stat(child)
		switch {
		case err != nil:
		case info.dir:
			total += minFileBytes + d.measure(child, depth+1)
		default:
			total += max(info.size, minFileBytes)
		}
	}
	return total
}

func joinPath(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// locate returns the volume that holds path and its name there.
func (d *disk) locate(path string) (v volume, inner string, readOnly bool) {
	if within(path, romDir) && path != "" {
		return d.rom, strings.TrimPrefix(strings.TrimPrefix(path, romDir), "/"), true
	}
	return d.data, path, false
}

func (d *disk) readOnly(path string) bool {
	_, _, readOnly := d.locate(path)
	return readOnly
}

func (d *disk) stat(path string) (fileInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.statLocked(path)
}

func (d *disk) statLocked(path string) (fileInfo, error) {
	if escapes(path) {
		return fileInfo{}, pathFailure(path, errInvalidPath)
	}
	v, inner, _ := d.locate(path)
	info, err := v.stat(inner)
	return info, pathFailure(path, err)
}

func (d *disk) list(path string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if escapes(path) {
		return nil, pathFailure(path, errInvalidPath)
	}
	v, inner, _ := d.locate(path)
	names, err := v.list(inner)
	if err != nil {
		return nil, pathFailure(path, err)
	}
	if path != "" {
		return names, nil
	}
	for i, name := range names {
		if name == romDir {
			return names, nil
		}
		if name > romDir {
			return append(names[:i:i], append([]string{romDir}, names[i:]...)...), nil
		}
	}
	return append(names, romDir), nil
}

// free is how many bytes are left; a host directory is measured anew, since others may write there.
func (d *disk) free() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, memory := d.data.(*memoryVolume); !memory {
		d.used = d.measure("", 0)
	}
	return max(d.capacity-d.used, 0)
}

// openRead opens a file for reading.
func (d *disk) openRead(path string) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	info, err := d.statLocked(path)
	if err != nil {
		return nil, err
	}
	if info.dir {
		return nil, pathFailure(path, errNotAFile)
	}
	v, inner, _ := d.locate(path)
	f, err := v.open(inner, false, false)
	return f, pathFailure(path, err)
}

// openWrite opens a file for writing, makes it and its parents when create is set, and empties it at once when
// truncate is set: what it held is lost from then on, as on the real thing.
func (d *disk) openWrite(path string, create, truncate bool) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.writable(path); err != nil {
		return nil, err
	}
	info, err := d.data.stat(path)
	switch {
	case err == nil && info.dir:
		return nil, pathFailure(path, errCannotWrite)
	case err == nil:
		if truncate {
			d.used += minFileBytes - max(info.size, minFileBytes)
		}
	case !create:
		return nil, pathFailure(path, errNoSuchFile)
	default:
		if err := d.makeParents(path); err != nil {
			return nil, err
		}
		if d.capacity-d.used < minFileBytes {
			return nil, pathFailure(path, errOutOfSpace)
		}
		d.used += minFileBytes
	}
	f, err := d.data.open(path, create, truncate)
	return f, pathFailure(path, err)
}

// openUpdate opens an existing file for reading and writing.
func (d *disk) openUpdate(path string) (file, error) {
	if _, err := d.stat(path); err != nil {
		return nil, err
	}
	return d.openWrite(path, true, false)
}

func (d *disk) writable(path string) error {
	switch {
	case escapes(path):
		return pathFailure(path, errInvalidPath)
	case d.readOnly(path) || path == "":
		return pathFailure(path, errAccessDenied)
	}
	return nil
}

func (d *disk) makeParents(path string) error {
	if parent := parentPath(path); parent != "" {
		return d.makeDirLocked(parent)
	}
	return nil
}

func (d *disk) makeDir(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if path == "" {
		return nil
	}
	if err := d.writable(path); err != nil {
		return err
	}
	return d.makeDirLocked(path)
}

func (d *disk) makeDirLocked(path string) error {
	parts := strings.Split(path, "/")
	if len(parts) > maxDiskDepth {
		return pathFailure(path, errOutOfSpace)
	}
	made := ""
	for _, part := range parts {
		made = joinPath(made, part)
		info, err := d.data.stat(made)
		switch {
		case err == nil && info.dir:
			continue
		case err == nil:
			return pathFailure(path, errFileExists)
		case d.capacity-d.used < minFileBytes:
			return pathFailure(path, errOutOfSpace)
		}
		if err := d.data.mkdir(made); err != nil {
			return pathFailure(path, err)
		}
		d.used += minFileBytes
	}
	return nil
}

// writeAt writes to a file that openWrite opened, within the capacity.
func (d *disk) writeAt(f file, p []byte, offset int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	size, err := f.Size()
	if err != nil {
		return hostReason(err)
	}
	grown := max(size, offset+int64(len(p)), minFileBytes) - max(size, minFileBytes)
	if grown > d.capacity-d.used {
		return errOutOfSpace
	}
	if _, err := f.WriteAt(p, offset); err != nil {
		return hostReason(err)
	}
	d.used += grown
	return nil
}

// readAt reads from an open file; fewer bytes than asked for mean its end.
func (d *disk) readAt(f file, p []byte, offset int64) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := f.ReadAt(p, offset)
	if err != nil {
		return n, hostReason(err)
	}
	return n, nil
}

func (d *disk) sizeOf(f file) (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return f.Size()
}

// remove deletes a file or a whole directory; what does not exist is no error.
func (d *disk) remove(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.writable(path); err != nil {
		return err
	}
	info, missing := d.data.stat(path)
	if missing != nil {
		return nil
	}
	freed := max(info.size, minFileBytes)
	if info.dir {
		freed = minFileBytes + d.measure(path, 0)
	}
	if err := d.data.remove(path); err != nil {
		return pathFailure(path, err)
	}
	d.used -= freed
	return nil
}

// move renames a file or directory. The target must not exist; its parents are made.
func (d *disk) move(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.writable(from); err != nil {
		return errAccessDenied
	}
	if err := d.transferable(from, to); err != nil {
		return err
	}
	if err := d.makeParents(to); err != nil {
		return err
	}
	return pathFailure(from, d.data.rename(from, to))
}

// transferable checks what move and copy have in common.
func (d *disk) transferable(from, to string) error {
	if err := d.writable(to); err != nil {
		return errAccessDenied
	}
	if _, err := d.statLocked(from); err != nil {
		return errNoSuchFile
	}
	if _, err := d.data.stat(to); err == nil {
		return errFileExists
	}
	if within(to, from) {
		return errInsideItself
	}
	return nil
}

// copy copies a file or directory. The target must not exist; its parents are made.
func (d *disk) copy(from, to string) error {
	d.mu.Lock()
	err := d.transferable(from, to)
	d.mu.Unlock()
	if err != nil {
		return err
	}
	return d.copyTree(from, to, 0)
}

func (d *disk) copyTree(from, to string, depth int) error {
	info, err := d.stat(from)
	if err != nil || depth > maxDiskDepth {
		return err
	}
	if !info.dir {
		content, err := d.readFile(from)
		if err != nil {
			return err
		}
		return d.writeFile(to, content)
	}
	if err := d.makeDir(to); err != nil {
		return err
	}
	names, err := d.list(from)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := d.copyTree(joinPath(from, name), joinPath(to, name), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (d *disk) readFile(path string) ([]byte, error) {
	f, err := d.openRead(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	size, err := d.sizeOf(f)
	if err != nil {
		return nil, err
	}
	content := make([]byte, size)
	n, err := d.readAt(f, content, 0)
	return content[:n], err
}

func (d *disk) writeFile(path string, content []byte) error {
	f, err := d.openWrite(path, true, true)
	if err != nil {
		return err
	}
	if err := d.writeAt(f, content, 0); err != nil {
		return errors.Join(pathFailure(path, err), f.Close())
	}
	return f.Close()
}

// seed copies files onto the disk, except those that are there already.
func (d *disk) seed(files fs.FS) error {
	return fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return d.makeDir(cleanPath(path))
		}
		target := cleanPath(path)
		if _, err := d.stat(target); err == nil {
			return nil
		}
		content, err := fs.ReadFile(files, path)
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		return d.writeFile(target, content)
	})
}
