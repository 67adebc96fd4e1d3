//go:build unix

package watch

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// odd are things that must never be waited for, nor read.
var odd = []struct {
	name string
	make func(path string) error
}{
	{"pipe without a writer", func(path string) error { return syscall.Mkfifo(path, 0o600) }},
	{"link to an endless device", func(path string) error { return os.Symlink("/dev/zero", path) }},
	{"link to a terminal", func(path string) error { return os.Symlink("/dev/tty", path) }},
	{"link to itself", func(path string) error { return os.Symlink(path, path) }},
	{"link to nothing", func(path string) error { return os.Symlink("nothing/at/all", path) }},
	{"link to an empty name below a file", func(path string) error { return os.Symlink("/dev/null/x", path) }},
	{"link to the root", func(path string) error { return os.Symlink("/", path) }},
	{"link to many parents", func(path string) error { return os.Symlink("../../../../../../../../../../../..", path) }},
	{"socket", func(path string) error {
		fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer func() { _ = syscall.Close(fd) }()
		return syscall.Bind(fd, &syscall.SockaddrUnix{Name: path})
	}},
}

// TestOddFiles watches what is no file, before it becomes one and after.
func TestOddFiles(t *testing.T) {
	for _, o := range odd {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("", "w") // a socket's path is short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			if dir, err = filepath.EvalSymlinks(dir); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "f")
			if err := o.make(path); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			g := take(path, false, nil)
			if took := time.Since(began); took > time.Second || g.kind == content {
				t.Fatalf("found %v after %v", g.kind, took)
			}
			r := start(t, Options{}, eventsOnly, path)
			replace(t, path, "a file at last")
			r.expect(path)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := o.make(path); err != nil {
				t.Fatal(err)
			}
			r.expect(path)
			r.silent()
		})
	}
}

// TestPipeOpened opens a pipe where a file was a moment ago: openFile does not wait for a writer.
func TestPipeOpened(t *testing.T) {
	path := filepath.Join(realDir(t), "f")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := openFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSavedUnderAnotherName edits a file through a hard link in another directory: no event says so, the poll finds it.
func TestSavedUnderAnotherName(t *testing.T) {
	path, other := filepath.Join(realDir(t), "f"), filepath.Join(realDir(t), "g")
	write(t, other, "old")
	if err := os.Link(other, path); err != nil {
		t.Fatal(err)
	}
	r := start(t, Options{Poll: 20 * time.Millisecond}, nil, path)
	write(t, other, "new")
	r.expect(path)
	r.silent()
}

// TestAncestorRenamed moves a directory far above the file: no event says so, the poll finds it, and events work again.
func TestAncestorRenamed(t *testing.T) {
	dir := realDir(t)
	path := filepath.Join(dir, "a", "b", "c", "f")
	for _, top := range []string{"a", "n"} {
		if err := os.MkdirAll(filepath.Join(dir, top, "b", "c"), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, top, "b", "c", "f"), top)
	}
	r := start(t, Options{Poll: 20 * time.Millisecond}, nil, path)
	for _, move := range [][2]string{{"a", "old"}, {"n", "a"}} {
		if err := os.Rename(filepath.Join(dir, move[0]), filepath.Join(dir, move[1])); err != nil {
			t.Fatal(err)
		}
	}
	r.expect(path)
	r.silent()
}
