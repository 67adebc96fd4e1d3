package watch

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen, in real time.
const patience = 20 * time.Second

// rig is a running Watcher whose reports are kept.
type rig struct {
	*Watcher
	t       testing.TB
	reports chan []string
}

// start runs a Watcher of paths, its first look done. change, if not nil, has a last word on it before it runs.
func start(t testing.TB, opts Options, change func(*Watcher), paths ...string) *rig {
	t.Helper()
	r := &rig{t: t, reports: make(chan []string, 4096)}
	opts.Changed = func(paths []string) { r.reports <- paths }
	r.Watcher = New(opts)
	if change != nil {
		change(r.Watcher)
	}
	r.Set(paths)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	select {
	case <-r.poked():
	case <-time.After(patience):
		t.Fatal("the first look takes too long")
	}
	return r
}

// eventsOnly leaves a Watcher without its poll, so that nothing but events can have told it.
func eventsOnly(w *Watcher) { w.opts.Poll = time.Hour }

// poked is closed when the Watcher runs and has looked at everything.
func (r *rig) poked() <-chan struct{} {
	looked, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case r.pokes <- looked:
			<-looked
		case <-r.done:
		}
	}()
	return done
}

// next waits for the next report.
func (r *rig) next() []string {
	r.t.Helper()
	select {
	case paths := <-r.reports:
		return paths
	case <-time.After(patience):
		r.t.Fatal("nothing was reported")
		return nil
	}
}

// expect waits for the next report and requires it to be of exactly these paths.
func (r *rig) expect(paths ...string) {
	r.t.Helper()
	if got := r.next(); !slices.Equal(got, paths) {
		r.t.Fatalf("reported %q, want %q", got, paths)
	}
}

// drain takes the reports that are there and says how many they were.
func (r *rig) drain() (n int) {
	for {
		select {
		case <-r.reports:
			n++
		default:
			return n
		}
	}
}

// silent proves that nothing is reported or about to be: it looks at everything, which would report what is held back.
func (r *rig) silent() {
	r.t.Helper()
	r.Poke()
	select {
	case paths := <-r.reports:
		r.t.Fatalf("reported %q, want nothing", paths)
	default:
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// replace writes text beside path and renames it over path, as editors do.
func replace(t testing.TB, path, text string) {
	t.Helper()
	write(t, path+".tmp", text)
	if err := os.Rename(path+".tmp", path); err != nil {
		t.Fatal(err)
	}
}

// realDir is a temporary directory whose path has no symbolic link.
func realDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
