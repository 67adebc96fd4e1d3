package watch

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// slow is a rig in a synctest bubble: files are real, time and events are not.
type slow struct {
	*rig
	path  string
	src   *handSource
	began time.Time
}

// timed runs f in a bubble with one watched file of content "old", the clock at zero.
func timed(t *testing.T, opts Options, f func(s *slow)) {
	t.Helper()
	path := filepath.Join(realDir(t), "f")
	write(t, path, "old")
	synctest.Test(t, func(t *testing.T) {
		s := &slow{path: path, src: newHandSource()}
		s.rig = start(t, opts, func(w *Watcher) {
			w.open = func() (source, error) { return s.src, nil }
		}, path)
		s.began = time.Now()
		f(s)
	})
}

// save writes text in place, now and with its event.
func (s *slow) save(text string) {
	s.t.Helper()
	write(s.t, s.path, text)
	s.src.events <- fsnotify.Event{Name: s.path, Op: fsnotify.Write}
}

func (s *slow) remove() {
	s.t.Helper()
	if err := os.Remove(s.path); err != nil {
		s.t.Fatal(err)
	}
	s.src.events <- fsnotify.Event{Name: s.path, Op: fsnotify.Remove}
}

// until lets time pass until the clock shows at.
func (s *slow) until(at time.Duration) {
	time.Sleep(time.Until(s.began.Add(at))) // the bubble's time
	synctest.Wait()
}

// reportedAt waits for the next report and requires it to come when the clock shows at.
func (s *slow) reportedAt(at time.Duration) {
	s.t.Helper()
	s.expect(s.path)
	if got := time.Since(s.began); got != at {
		s.t.Fatalf("reported at %v, want %v", got, at)
	}
}

// quietUntil requires no report until the clock shows at, without looking.
func (s *slow) quietUntil(at time.Duration) {
	s.t.Helper()
	s.until(at)
	select {
	case <-s.reports:
		s.t.Fatalf("reported by %v, want nothing", at)
	default:
	}
}

const ms = time.Millisecond

func TestDebounce(t *testing.T) {
	timed(t, Options{}, func(s *slow) {
		s.save("new")
		s.until(40 * ms)
		s.save("newer")
		s.reportedAt(90 * ms)
		s.quietUntil(time.Minute)
	})
}

func TestNeverQuiet(t *testing.T) {
	timed(t, Options{}, func(s *slow) {
		for i := range 12 {
			s.until(time.Duration(i) * 40 * ms)
			s.save("new" + string(rune('a'+i)))
		}
		s.until(480 * ms)
		s.save("last")
		s.reportedAt(maxBurst * 50 * ms)
		s.quietUntil(time.Minute)
	})
}

func TestEmptyForAMoment(t *testing.T) {
	timed(t, Options{}, func(s *slow) {
		s.save("")
		s.quietUntil(300 * ms)
		s.save("new")
		s.reportedAt(350 * ms)
		s.quietUntil(time.Minute)
	})
}

func TestEmptyForGood(t *testing.T) {
	timed(t, Options{}, func(s *slow) {
		s.save("")
		s.reportedAt(50*ms + DefaultSettle)
		s.quietUntil(time.Minute)
	})
}

// unfinished takes what does not end in a brace for half-written.
func unfinished(_ string, data []byte) bool { return !bytes.HasSuffix(data, []byte("}")) }

func TestHalfWrittenForAMoment(t *testing.T) {
	timed(t, Options{Partial: unfinished}, func(s *slow) {
		s.save("{")
		s.quietUntil(300 * ms)
		s.save("{}")
		s.reportedAt(350 * ms)
		s.quietUntil(time.Minute)
	})
}

func TestHalfWrittenForGood(t *testing.T) {
	timed(t, Options{Partial: unfinished}, func(s *slow) {
		s.save("{")
		s.reportedAt(50*ms + DefaultSettle)
		s.save("{}")
		s.reportedAt(50*ms + DefaultSettle + 50*ms)
	})
}

func TestNeverSettles(t *testing.T) {
	timed(t, Options{Partial: unfinished}, func(s *slow) {
		text := "{"
		for i := range 100 {
			s.until(time.Duration(i) * 100 * ms)
			if len(s.reports) > 0 {
				break
			}
			text += "x"
			s.save(text)
		}
		s.expect(s.path)
		if got, want := time.Since(s.began), 50*ms+maxHold*DefaultSettle; got < want || got > want+100*ms {
			t.Fatalf("reported at %v, want %v", got, want)
		}
	})
}

func TestGoneForAMoment(t *testing.T) {
	timed(t, Options{}, func(s *slow) {
		s.remove()
		s.quietUntil(2900 * ms)
		s.save("old")
		s.quietUntil(time.Minute)
	})
}

func TestGoneAndBackWithNews(t *testing.T) {
	timed(t, Options{}, func(s *slow) {
		s.remove()
		s.quietUntil(2900 * ms)
		s.save("new")
		s.reportedAt(2950 * ms)
		s.quietUntil(time.Minute)
	})
}

func TestGoneAndBackHalfWritten(t *testing.T) {
	timed(t, Options{Partial: unfinished}, func(s *slow) {
		s.remove()
		s.quietUntil(2900 * ms)
		s.save("{") // has all its time to settle, however long the file was gone
		s.quietUntil(3200 * ms)
		s.save("{}")
		s.reportedAt(3250 * ms)
	})
}

func TestGoneForGood(t *testing.T) {
	timed(t, Options{}, func(s *slow) {
		s.remove()
		s.reportedAt(50*ms + DefaultGrace)
		s.quietUntil(10 * time.Second)
		s.save("old")
		s.reportedAt(10*time.Second + 50*ms)
	})
}

func TestThereAndBackAgain(t *testing.T) {
	timed(t, Options{}, func(s *slow) {
		s.save("new")
		s.until(30 * ms)
		s.save("old")
		s.quietUntil(time.Minute)
	})
}

func TestPollAlone(t *testing.T) {
	timed(t, Options{Poll: time.Hour}, func(s *slow) {
		s.quietUntil(time.Second)
		replace(t, s.path, "new") // no event
		s.reportedAt(MaxPoll + DefaultDebounce)
		s.quietUntil(time.Minute)
	})
}

func TestPollOfAFileStillBeingWritten(t *testing.T) {
	timed(t, Options{}, func(s *slow) {
		s.until(MaxPoll - 10*ms)
		write(t, s.path, "ne")
		s.until(MaxPoll + 20*ms)
		write(t, s.path, "new")
		s.reportedAt(MaxPoll + 2*DefaultDebounce)
		s.quietUntil(time.Minute)
	})
}

func TestPokeWaitsForNothing(t *testing.T) {
	timed(t, Options{Partial: unfinished}, func(s *slow) {
		s.remove()
		s.Poke()
		s.reportedAt(0)
		write(t, s.path, "{")
		s.Poke()
		s.reportedAt(0)
		s.Poke()
		s.quietUntil(time.Minute)
	})
}

func TestNeighbourWakesNobody(t *testing.T) {
	timed(t, Options{}, func(s *slow) {
		replace(t, s.path, "new") // would be found by any look
		for range 10 {
			s.src.events <- fsnotify.Event{Name: s.path + ".swp", Op: fsnotify.Write | fsnotify.Create}
		}
		s.quietUntil(MaxPoll - ms)
		s.reportedAt(MaxPoll + DefaultDebounce)
	})
}
