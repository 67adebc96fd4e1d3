package watch

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestReadAll(t *testing.T) {
	for _, n := range []int{0, 1, 511, 513, 100_000, MaxRead, MaxRead + 1, MaxRead + 2, 2 * MaxRead} {
		for _, size := range []int64{0, int64(n) / 2, int64(n), -1, 1 << 40} { // what a stat says may be wrong
			got, err := readAll(bytes.NewReader(make([]byte, n)), size)
			if err != nil || len(got) != min(n, MaxRead+1) || cap(got) > MaxRead+1 {
				t.Errorf("of %d bytes announced as %d: read %d into %d, %v", n, size, len(got), cap(got), err)
			}
		}
	}
}

// TestRacyStat reads a file right after it was written: its times prove nothing yet, since the next write may leave them as they are.
func TestRacyStat(t *testing.T) {
	path := filepath.Join(realDir(t), "f")
	write(t, path, "old")
	g := take(path, false, nil)
	if g.trusted || g.unchanged(path) {
		t.Fatal("the times of a file that was just written were trusted")
	}
	g.trusted = true // as it would be, had it been read later
	if !g.unchanged(path) {
		t.Fatal("a file changed by itself")
	}
	write(t, path, "newer")
	if g.unchanged(path) {
		t.Fatal("a change went unnoticed")
	}
}

// TestEveryNth hides a change from stat: it is found all the same, a few polls later.
func TestEveryNth(t *testing.T) {
	path := filepath.Join(realDir(t), "f")
	write(t, path, "new")
	g := take(path, false, nil)
	g.trusted = true
	g.sum[0]++ // what was read before was different
	f, o := newFile(path, &g), New(Options{}).opts
	for polls := range everyNth {
		f.look(time.Now(), false, &o)
		if !f.due(false, &o).IsZero() {
			t.Fatalf("read after %d polls", polls)
		}
	}
	f.look(time.Now(), false, &o)
	if f.due(false, &o).IsZero() {
		t.Fatal("not read after so many polls")
	}
}

func TestPermissions(t *testing.T) {
	path := filepath.Join(realDir(t), "f")
	write(t, path, "old")
	r := start(t, Options{Permissions: true}, eventsOnly, path)
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	r.expect(path)
	r.silent()
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	r.expect(path)
}

// TestDirectoryInstead puts a directory where a file was, and a file that is too large to be read whole.
func TestDirectoryInstead(t *testing.T) {
	path := filepath.Join(realDir(t), "f")
	write(t, path, "old")
	r := start(t, Options{}, eventsOnly, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	r.expect(path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("x"), MaxRead+100)
	replace(t, path, string(large))
	// Where writing the file takes long, that the directory is gone is a report of its own.
	if r.Poke(); r.drain() == 0 {
		t.Fatal("a file in place of a directory was not reported")
	}
	// Beyond what is read, nothing is told apart: such a file is refused whatever it says there.
	large[MaxRead+50]++
	replace(t, path, string(large))
	r.silent()
}
