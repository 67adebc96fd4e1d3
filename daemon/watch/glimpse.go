package watch

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// MaxRead is how much of a file is read, in bytes, give or take one: the limit of a configuration file. A longer file is
// told apart from others by its first MaxRead+1 bytes.
const MaxRead = 4 << 20

// racy is how old a file's last change must be, when it is read, for its times to be trusted later: a write within the same tick of
// the clock leaves them as they were. Two seconds is the coarsest tick there is (FAT), and covers a server's clock that is a little off.
const racy = 2 * time.Second

// kind is what a look found at a path.
type kind uint8

const (
	absent     kind = iota // nothing, or a link to nothing
	content                // a regular file that was read
	unreadable             // something that could not be looked at or read
	irregular              // a directory, a pipe, a device: never opened
)

// state is what makes two looks at one path equal. Comparable.
type state struct {
	kind   kind
	sum    [sha256.Size]byte // of the content
	access access            // zero unless permissions count
}

// access is who may do what with a file. Comparable; uid and gid are zero where there are none.
type access struct {
	mode     fs.FileMode
	uid, gid uint32
}

// stamp is what a stat says about a file: as long as it stays the same, so does the content, unless the change is racy. Comparable.
type stamp struct {
	dev, ino uint64 // zero where there are none
	size     int64  // bytes
	modified int64  // nanoseconds since 1970
	changed  int64  // the same for the inode; where it has none, as modified
	access   access
}

// glimpse is the outcome of one look at one path.
type glimpse struct {
	state
	stamp   stamp // zero unless it is a regular file, readable or not
	trusted bool  // the same stamp later means the same content
	partial bool  // the content looks half-written
}

// take looks at path, never blocking on what is there. partial may be nil; it is asked about content that is not empty.
func take(path string, permissions bool, partial func([]byte) bool) glimpse {
	info, err := os.Stat(path)
	if err != nil {
		return glimpse{state: state{kind: kindOf(err)}}
	}
	if !info.Mode().IsRegular() {
		return glimpse{state: state{kind: irregular}}
	}
	g := glimpse{state: state{kind: unreadable}, stamp: stampOf(info)}
	f, err := openFile(path)
	if err != nil {
		if kindOf(err) == absent {
			return glimpse{}
		}
		return g
	}
	defer func() { _ = f.Close() }() // opened for reading: nothing can be lost
	// The path may by now lead elsewhere: what counts is what was opened, as it was before it was read.
	info, err = f.Stat()
	if err != nil {
		return g
	}
	if !info.Mode().IsRegular() {
		return glimpse{state: state{kind: irregular}}
	}
	g.stamp = stampOf(info)
	g.trusted = time.Now().UnixNano()-g.stamp.changed > int64(racy)
	data, err := readAll(f, info.Size())
	if err != nil {
		return g
	}
	g.kind, g.sum = content, sha256.Sum256(data)
	g.partial = len(data) == 0 || partial != nil && partial(data)
	if permissions {
		g.access = g.stamp.access
	}
	return g
}

// readAll reads at most MaxRead+1 bytes. The buffer fits the size in advance, with one byte left to meet the end in.
func readAll(r io.Reader, size int64) ([]byte, error) {
	buf := make([]byte, 0, min(max(size, 0), MaxRead)+1)
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case errors.Is(err, io.EOF), len(buf) > MaxRead:
			return buf, nil
		case err != nil:
			return nil, err
		case len(buf) == cap(buf):
			grown := make([]byte, len(buf), min(2*cap(buf)+512, MaxRead+1))
			copy(grown, buf)
			buf = grown
		}
	}
}

// overtaken says that something has happened at path since g was taken, even if it has come to nothing.
func (g *glimpse) overtaken(path string) bool {
	var now stamp
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		now = stampOf(info)
	}
	return now != g.stamp
}

// unchanged says that path still has the stamp of g and that this proves its content to be the same.
func (g *glimpse) unchanged(path string) bool {
	if g.kind != content || !g.trusted {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && stampOf(info) == g.stamp
}

// kindOf tells a path where nothing is (also below something that is no directory) from one that cannot be looked at.
func kindOf(err error) kind {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return absent
	}
	return unreadable
}

// absolute is path made absolute, or as it is when the working directory is gone. An absolute one is not cleaned: what
// `link/..` leads to is for the file system to say.
func absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return abs
}

// portableStamp is the part of a stamp that every system has.
func portableStamp(info fs.FileInfo) stamp {
	modified := info.ModTime().UnixNano()
	return stamp{size: info.Size(), modified: modified, changed: modified, access: access{mode: info.Mode()}}
}
