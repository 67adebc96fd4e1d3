package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestReplacedFile is the one style that every system must pass with events alone; the others are in TestStyles.
func TestReplacedFile(t *testing.T) {
	dir := realDir(t)
	path := filepath.Join(dir, "f")
	r := start(t, Options{}, eventsOnly, path)
	for _, text := range []string{"one", "two", "three"} {
		replace(t, path, text)
		r.expect(path)
	}
	r.silent()
}

// TestSetThenRead proves the promise of Set: what changes after it is reported, whether or not Run has begun.
func TestSetThenRead(t *testing.T) {
	path := filepath.Join(realDir(t), "f")
	write(t, path, "old")
	reports := make(chan []string, 1)
	w := New(Options{Changed: func(paths []string) { reports <- paths }})
	if added := w.Set([]string{path, path}); !slices.Equal(added, []string{path}) {
		t.Fatalf("Set added %q", added)
	}
	write(t, path, "new")
	if added := w.Set([]string{path}); added != nil {
		t.Fatalf("Set added %q again", added)
	}
	w.Poke() // before Run: returns at once
	ended := make(chan error, 1)
	go func() { ended <- w.Run(context.Background()) }()
	select {
	case got := <-reports:
		if !slices.Equal(got, []string{path}) {
			t.Fatalf("reported %q", got)
		}
	case <-time.After(patience):
		t.Fatal("nothing was reported")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestSetWhileRunning(t *testing.T) {
	a, b := filepath.Join(realDir(t), "a"), filepath.Join(realDir(t), "b")
	r := start(t, Options{}, eventsOnly, a)
	write(t, b, "unwatched")
	r.silent()
	if added := r.Set([]string{a, b}); !slices.Equal(added, []string{b}) {
		t.Fatalf("Set added %q", added)
	}
	r.silent()
	write(t, b, "watched")
	r.expect(b)
	r.Set([]string{a})
	write(t, b, "no more")
	write(t, a, "new")
	r.expect(a)
	// What happened while it was not watched is not told afterwards.
	r.Set([]string{a, b})
	r.silent()
	// Dropped and taken up again before anybody looked: what is told is what differs from the second Set.
	r.Set([]string{a})
	write(t, b, "in between")
	r.Set([]string{a, b})
	r.silent()
	write(t, b, "afterwards")
	r.expect(b)
}

// TestSetFromChanged follows a file that names others, as a configuration names its environment files.
func TestSetFromChanged(t *testing.T) {
	dir := realDir(t)
	main, other := filepath.Join(dir, "main"), filepath.Join(realDir(t), "sub", "other")
	reports := make(chan []string, 16)
	var w *Watcher
	w = New(Options{Changed: func(paths []string) {
		w.Set([]string{main, other})
		reports <- paths
	}})
	eventsOnly(w)
	w.Set([]string{main})
	ended := make(chan error, 1)
	go func() { ended <- w.Run(context.Background()) }()
	t.Cleanup(func() {
		if err := errors.Join(w.Close(), <-ended); err != nil {
			t.Error(err)
		}
	})
	r := &rig{Watcher: w, t: t, reports: reports}
	<-r.poked()
	write(t, main, "names other")
	r.expect(main)
	r.Poke()
	if err := os.Mkdir(filepath.Dir(other), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, other, "new")
	r.expect(other)
	r.silent()
}

func TestRunAndClose(t *testing.T) {
	w := New(Options{})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context()); err != nil {
		t.Fatalf("Run after Close: %v", err)
	}
	r := start(t, Options{}, nil)
	if err := r.Run(t.Context()); !errors.Is(err, ErrRunning) {
		t.Fatalf("a second Run: %v", err)
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r.Poke() // afterwards: returns at once
}

func TestDefaults(t *testing.T) {
	got := New(Options{Poll: time.Minute, Grace: -1}).opts
	if got.Debounce != DefaultDebounce || got.Settle != DefaultSettle || got.Poll != MaxPoll || got.Grace != 0 {
		t.Fatalf("defaults are %v %v %v %v", got.Debounce, got.Settle, got.Poll, got.Grace)
	}
}

// TestManyNeighbours saves a file in a directory where others are busy without pause: it is reported nevertheless, and alone.
func TestManyNeighbours(t *testing.T) {
	dir := realDir(t)
	path := filepath.Join(dir, "f")
	r := start(t, Options{}, eventsOnly, path)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				busy := filepath.Join(dir, "neighbour")
				if err := errors.Join(os.WriteFile(busy+".tmp", nil, 0o600), os.Rename(busy+".tmp", busy)); err != nil {
					t.Error(err)
					return
				}
			}
		}
	}()
	for _, text := range []string{"one", "two", "three"} {
		replace(t, path, text)
		r.expect(path)
	}
	close(stop)
	<-stopped
	r.silent()
}
