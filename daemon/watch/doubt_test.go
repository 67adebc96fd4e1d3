package watch

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestChangedAndBackWhileTold changes a file when Changed reads it, and changes it back before the next look: it is told once
// more, or the reader would keep for ever what was there for a moment. A neighbour that Changed may have read as well counts too.
func TestChangedAndBackWhileTold(t *testing.T) {
	dir := realDir(t)
	path, other := filepath.Join(dir, "f"), filepath.Join(dir, "other")
	for _, name := range []string{path, other} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			write(t, path, "old")
			write(t, other, "old")
			reports, times := make(chan []string, 16), 0
			w := New(Options{Poll: 20 * time.Millisecond, Changed: func(paths []string) {
				if times++; times == 1 {
					before, err := os.ReadFile(name)
					if err != nil {
						t.Error(err)
					}
					replace(t, name, "for a moment")
					replace(t, name, string(before))
				}
				reports <- paths
			}})
			w.Set([]string{path, other})
			r := &rig{Watcher: w, t: t, reports: reports}
			ended := make(chan error, 1)
			go func() { ended <- w.Run(t.Context()) }()
			<-r.poked()
			write(t, path, "new")
			r.expect(path)
			r.expect(name)
			r.silent()
			if err := errors.Join(w.Close(), <-ended); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestStampsThatNeverRest touches a file each time it is told: that comes to an end.
func TestStampsThatNeverRest(t *testing.T) {
	path := filepath.Join(realDir(t), "f")
	write(t, path, "old")
	reports := make(chan []string, 64)
	stamps := time.Unix(1_000_000_000, 0)
	w := New(Options{Changed: func(paths []string) {
		stamps = stamps.Add(time.Second)
		if err := os.Chtimes(path, stamps, stamps); err != nil {
			t.Error(err)
		}
		reports <- paths
	}})
	w.Set([]string{path})
	r := &rig{Watcher: w, t: t, reports: reports}
	ended := make(chan error, 1)
	go func() { ended <- w.Run(t.Context()) }()
	<-r.poked()
	write(t, path, "new")
	for range 1 + maxDoubts {
		r.expect(path)
	}
	r.silent()
	if err := errors.Join(w.Close(), <-ended); err != nil {
		t.Fatal(err)
	}
}

// reader keeps what it read when it was last told, as the daemon's reloader does.
type reader struct {
	mu   sync.Mutex
	path string
	text string
}

func (r *reader) read([]string) {
	text := contentOf(r.path)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = text
}

func (r *reader) knows() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text
}

func contentOf(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return "nothing"
	}
	return string(data)
}

// TestAnyHistory does what it likes with a directory, links and files, without pause and with no poll to help: whatever happened, the
// reader soon knows what is there now.
func TestAnyHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp("", "watch")
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			rt.Fatal(err)
		}
		rd := &reader{path: filepath.Join(dir, "d", "f"), text: "nothing"}
		w := New(Options{Debounce: time.Millisecond, Settle: 2 * time.Millisecond, Grace: time.Millisecond, Changed: rd.read})
		eventsOnly(w)
		w.Set([]string{rd.path})
		ended := make(chan error, 1)
		go func() { ended <- w.Run(t.Context()) }()
		defer func() {
			if err := errors.Join(w.Close(), <-ended); err != nil {
				rt.Error(err)
			}
		}()
		for range rapid.IntRange(1, 6).Draw(rt, "rests") {
			for range rapid.IntRange(1, 8).Draw(rt, "steps") {
				anyStep(rt, dir)
			}
			deadline := time.Now().Add(patience)
			for rd.knows() != contentOf(rd.path) {
				if time.Now().After(deadline) {
					rt.Fatalf("knows %q, but there is %q", rd.knows(), contentOf(rd.path))
				}
				<-time.After(time.Millisecond)
			}
		}
	})
}

// anyStep changes something in dir, or fails to: what cannot be done is not done.
func anyStep(t *rapid.T, dir string) {
	names := rapid.SampledFrom([]string{"d", "e", "g"})
	one, two := names.Draw(t, "one"), names.Draw(t, "two")
	at, to := filepath.Join(dir, one), filepath.Join(dir, two)
	text := []byte(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "text"))
	switch rapid.SampledFrom([]string{"mkdir", "write", "replace", "unlink", "rmdir", "link dir", "link file", "move dir", "move file"}).Draw(t, "step") {
	case "mkdir":
		_ = os.Mkdir(at, 0o700)
	case "write":
		_ = os.WriteFile(filepath.Join(at, "f"), text, 0o600)
	case "replace":
		_ = os.WriteFile(filepath.Join(at, "f.tmp"), text, 0o600)
		_ = os.Rename(filepath.Join(at, "f.tmp"), filepath.Join(at, "f"))
	case "unlink":
		_ = os.Remove(filepath.Join(at, "f"))
	case "rmdir":
		_ = os.RemoveAll(at)
	case "link dir":
		_ = os.Symlink(two, filepath.Join(dir, "tmp"))
		_ = os.Rename(filepath.Join(dir, "tmp"), at)
	case "link file":
		_ = os.Symlink(filepath.Join("..", two, "f"), filepath.Join(at, "tmp"))
		_ = os.Rename(filepath.Join(at, "tmp"), filepath.Join(at, "f"))
	case "move dir":
		_ = os.Rename(at, to)
	case "move file":
		_ = os.Rename(filepath.Join(at, "f"), filepath.Join(to, "f"))
	}
}
