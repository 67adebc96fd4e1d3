package watch

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

var saves = flag.Int("saves", 2000, "how many saves TestManySaves makes")

// use is what a process holds of things that must not grow.
type use struct{ descriptors, watches, goroutines, heap int }

func measure(t *testing.T) use {
	t.Helper()
	var u use
	entries, err := os.ReadDir("/proc/self/fdinfo")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := os.ReadFile(filepath.Join("/proc/self/fdinfo", e.Name()))
		if err != nil {
			continue // the descriptor that listed the others
		}
		u.descriptors++
		u.watches += strings.Count(string(info), "inotify wd:")
	}
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	u.goroutines, u.heap = runtime.NumGoroutine(), int(mem.HeapAlloc)
	return u
}

// TestManySaves saves again and again, in styles that replace files, links and directories: each save is reported, and
// afterwards no descriptor, no inotify watch, no goroutine and no memory is held that was not held before.
func TestManySaves(t *testing.T) {
	dir := realDir(t)
	path := filepath.Join(dir, "link", "f")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	volume := func(text string) string {
		name := filepath.Join(dir, "v"+text)
		must(os.Mkdir(name, 0o700))
		write(t, filepath.Join(name, "f"), text)
		return name
	}
	now := volume("first")
	must(os.Symlink(now, filepath.Join(dir, "link")))
	save := func(text string, style int) {
		switch style {
		case 0:
			write(t, path, text)
		case 1:
			replace(t, path, text)
		case 2:
			must(os.Remove(path))
			write(t, path, text)
		case 3: // the link to the directory is swapped
			next := volume(text)
			must(os.Symlink(next, filepath.Join(dir, "tmp")))
			must(os.Rename(filepath.Join(dir, "tmp"), filepath.Join(dir, "link")))
			must(os.RemoveAll(now))
			now = next
		case 4: // the directory itself is swapped, and the old one lives on for a while
			next, old := volume(text), filepath.Join(dir, "old")
			must(os.RemoveAll(old))
			must(os.Rename(now, old))
			must(os.Rename(next, now))
		}
	}
	r := start(t, Options{Debounce: time.Millisecond}, nil, path)
	var before use
	for i := range *saves {
		if i == min(100, *saves/2) {
			before = measure(t)
		}
		save(fmt.Sprint(i), i%5)
		r.expect(path)
		// A look in the middle of a save finds what is not yet there; what it finds later may be news once more.
		r.Poke()
		for len(r.reports) > 0 {
			<-r.reports
		}
	}
	after := measure(t)
	t.Logf("before %+v, after %d saves %+v", before, *saves, after)
	if after.descriptors > before.descriptors || after.watches > before.watches+1 || after.goroutines > before.goroutines {
		t.Errorf("grew from %+v to %+v", before, after)
	}
	if after.heap > before.heap+1<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before.heap, after.heap)
	}
}
