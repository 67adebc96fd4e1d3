package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// BenchmarkSave measures the time from a save (rename over, the commonest) to Changed at the default debounce, one save at a
// time. The limit for the running daemon, reload included, is a p99 of 150 ms; 50 ms of it are the debounce.
func BenchmarkSave(b *testing.B) {
	path := filepath.Join(realDir(b), "f")
	r := start(b, Options{}, nil, path)
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		replace(b, path, fmt.Sprint(i))
		r.expect(path)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkPoll measures one look at 20 unchanged files in 20 directories, which happens every 3 s for ever: 1 ms is 0.03 % of a processor.
func BenchmarkPoll(b *testing.B) {
	dir := realDir(b)
	w := New(Options{})
	var paths []string
	for i := range 20 {
		paths = append(paths, filepath.Join(dir, fmt.Sprint(i), "f"))
		if err := os.Mkdir(filepath.Dir(paths[i]), 0o700); err != nil {
			b.Fatal(err)
		}
		write(b, paths[i], "{}")
	}
	w.Set(paths)
	l := newLoop(w)
	defer l.tree.stop()
	l.look(polled)
	for _, f := range l.files {
		f.last.trusted = true // as two seconds later
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, f := range l.files {
			f.trusted = 0
		}
		l.look(polled)
	}
}

// BenchmarkNeighbour measures what an event costs that is none of the watcher's business: a build that makes 10,000 files a second in
// the workspace's root must not be felt.
func BenchmarkNeighbour(b *testing.B) {
	dir := realDir(b)
	m := newMailbox()
	m.care(map[string]struct{}{key(filepath.Join(dir, "f")): {}})
	ev := fsnotify.Event{Name: filepath.Join(dir, "neighbour"), Op: fsnotify.Write}
	b.ReportAllocs()
	for b.Loop() {
		m.put(ev)
	}
}
