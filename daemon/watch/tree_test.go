package watch

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAppearsWhileFollowed makes each directory just after its parent was found without it, and just before that one is watched: no
// event will ever say so.
func TestAppearsWhileFollowed(t *testing.T) {
	dir := realDir(t)
	path := filepath.Join(dir, "a", "b", "c", "f")
	src := newHandSource()
	below := map[string]string{
		dir:                         filepath.Join(dir, "a"),
		filepath.Join(dir, "a"):     filepath.Join(dir, "a", "b"),
		filepath.Join(dir, "a/b"):   filepath.Join(dir, "a", "b", "c"),
		filepath.Join(dir, "a/b/c"): "",
	}
	src.failing(func(parent string) error {
		if next := below[parent]; next != "" {
			if err := os.MkdirAll(next, 0o700); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	start(t, Options{}, func(w *Watcher) {
		eventsOnly(w)
		w.open = func() (source, error) { return src, nil }
	}, path)
	for parent := range below {
		if last := parent == filepath.Dir(path); src.watches(parent) != last {
			t.Errorf("%s watched: %v", parent, !last)
		}
	}
}

// TestVanishesWhileFollowed takes away the directory that is about to be watched.
func TestVanishesWhileFollowed(t *testing.T) {
	dir := realDir(t)
	path := filepath.Join(dir, "a", "f")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	log, logs := warnings()
	src := newHandSource()
	src.failing(func(dir string) error {
		if dir != filepath.Dir(path) {
			return nil
		}
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
		_, err := os.Lstat(dir)
		return err
	})
	start(t, Options{Logger: log}, func(w *Watcher) {
		eventsOnly(w)
		w.open = func() (source, error) { return src, nil }
	}, path)
	if !src.watches(dir) || src.watches(filepath.Dir(path)) {
		t.Error("the nearest ancestor that is left is not what is watched")
	}
	if logs.Len() != 0 {
		t.Errorf("warned: %v", logs.All())
	}
}

// TestNoMoreThanNeeded drops files and finds their directories dropped, unless another file needs them.
func TestNoMoreThanNeeded(t *testing.T) {
	one, two := realDir(t), realDir(t)
	src := newHandSource()
	r := start(t, Options{}, func(w *Watcher) { w.open = func() (source, error) { return src, nil } },
		filepath.Join(one, "f"), filepath.Join(one, "g"), filepath.Join(two, "f"))
	for _, c := range []struct {
		files    []string
		one, two bool
	}{
		{[]string{filepath.Join(one, "g"), filepath.Join(two, "f")}, true, true},
		{[]string{filepath.Join(two, "f")}, false, true},
		{[]string{filepath.Join(two, "missing", "f")}, false, true},
		{nil, false, false},
	} {
		r.Set(c.files)
		r.Poke()
		if src.watches(one) != c.one || src.watches(two) != c.two {
			t.Errorf("of %d files: watched %v %v, want %v %v", len(c.files), src.watches(one), src.watches(two), c.one, c.two)
		}
	}
}

// TestTooManyDirectories leaves to the poll what is beyond the limit, and says so once.
func TestTooManyDirectories(t *testing.T) {
	dir := realDir(t)
	log, logs := warnings()
	src := newHandSource()
	var paths []string
	for i := range maxDirs + 10 {
		d := filepath.Join(dir, string(rune('a'+i%26)), string(rune('a'+i/26%26)), string(rune('a'+i/676)))
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, filepath.Join(d, "f"))
	}
	start(t, Options{Logger: log}, func(w *Watcher) { w.open = func() (source, error) { return src, nil } }, paths...)
	if n := src.count(); n != maxDirs {
		t.Errorf("%d directories are watched, want %d", n, maxDirs)
	}
	warnedOnce(t, logs, "")
}
