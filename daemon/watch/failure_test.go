package watch

import (
	"errors"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// warnings is a logger and what it was told at level warn and above.
func warnings() (*zap.Logger, *observer.ObservedLogs) {
	core, logs := observer.New(zap.WarnLevel)
	return zap.New(core), logs
}

// warnedOnce requires exactly one warning, that names sysctl.
func warnedOnce(t *testing.T, logs *observer.ObservedLogs, sysctl string) {
	t.Helper()
	all := logs.All()
	if len(all) != 1 {
		t.Fatalf("%d warnings, want one: %v", len(all), all)
	}
	if got := all[0].ContextMap()["sysctl"]; sysctl != "" && got != sysctl {
		t.Fatalf("the warning names %v, want %s", got, sysctl)
	}
}

func TestNoInstance(t *testing.T) {
	path := filepath.Join(realDir(t), "f")
	synctest.Test(t, func(t *testing.T) {
		log, logs := warnings()
		var exhausted atomic.Bool
		exhausted.Store(true)
		src := newHandSource()
		r := start(t, Options{Logger: log}, func(w *Watcher) {
			w.open = func() (source, error) {
				if exhausted.Load() {
					return nil, syscall.EMFILE
				}
				return src, nil
			}
		}, path)
		for _, text := range []string{"new", "newer"} {
			write(t, path, text)
			r.expect(path)
		}
		warnedOnce(t, logs, sysctlOf(syscall.EMFILE))
		exhausted.Store(false)
		time.Sleep(MaxPoll) // the bubble's time
		synctest.Wait()
		if !src.watches(filepath.Dir(path)) {
			t.Fatal("events do not come back when they can")
		}
	})
}

func TestNoWatch(t *testing.T) {
	good, bad := filepath.Join(realDir(t), "f"), filepath.Join(realDir(t), "f")
	synctest.Test(t, func(t *testing.T) {
		log, logs := warnings()
		src := newHandSource()
		src.failing(func(dir string) error {
			if dir == filepath.Dir(bad) {
				return syscall.ENOSPC
			}
			return nil
		})
		r := start(t, Options{Logger: log}, func(w *Watcher) {
			w.open = func() (source, error) { return src, nil }
		}, good, bad)
		began := time.Now()
		write(t, bad, "new")
		write(t, good, "new")
		src.events <- fsnotify.Event{Name: good, Op: fsnotify.Create}
		r.expect(good, bad) // a look is a look at everything
		if took := time.Since(began); took != DefaultDebounce {
			t.Fatalf("took %v", took)
		}
		write(t, bad, "newer")
		r.expect(bad)
		warnedOnce(t, logs, sysctlOf(syscall.ENOSPC))
	})
}

func TestOverflow(t *testing.T) {
	log, logs := warnings()
	timed(t, Options{Logger: log}, func(s *slow) {
		replace(t, s.path, "new")
		s.src.errs <- fsnotify.ErrEventOverflow
		s.reportedAt(50 * ms)
		replace(t, s.path, "newer")
		s.src.errs <- fsnotify.ErrEventOverflow
		s.reportedAt(100 * ms)
		warnedOnce(t, logs, sysctlOf(fsnotify.ErrEventOverflow))
	})
}

// TestSourceBreaks closes a source that fails, and opens another.
func TestSourceBreaks(t *testing.T) {
	path := filepath.Join(realDir(t), "f")
	synctest.Test(t, func(t *testing.T) {
		log, logs := warnings()
		sources := []*handSource{newHandSource(), newHandSource()}
		opened := 0
		r := start(t, Options{Logger: log}, func(w *Watcher) {
			w.open = func() (source, error) { opened++; return sources[opened-1], nil }
		}, path)
		sources[0].errs <- errors.New("broken")
		time.Sleep(DefaultDebounce) // the bubble's time
		synctest.Wait()
		if _, open := <-sources[0].events; open || !sources[1].watches(filepath.Dir(path)) {
			t.Fatal("the broken source was not replaced")
		}
		write(t, path, "new")
		sources[1].events <- fsnotify.Event{Name: path, Op: fsnotify.Create}
		r.expect(path)
		if logs.Len() != 0 {
			t.Fatalf("warned of what mends itself: %v", logs.All())
		}
	})
}

// sysctlOf is what the warning must name on this system.
func sysctlOf(err error) string { return adviceFor(err) }
