package journal

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
)

// journaldStub is one that can be told to take nothing.
type journaldStub struct {
	mu   sync.Mutex
	err  error
	took []string
}

func (j *journaldStub) deliver(data []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.took = append(j.took, string(data))
	}
	return j.err
}

func (*journaldStub) close() error { return nil }

func (j *journaldStub) be(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.err = err
}

func line(s string) func() ([]byte, error) {
	return func() ([]byte, error) { return []byte(s + "\n"), nil }
}

func TestQueueKeepsAllInOrderWhileJournaldIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journaldStub{}
		q := newQueue(j, nil)
		put := func(s string) {
			q.put([]byte(s), line(s))
		}
		put("a")
		j.be(errBusy)
		before := time.Now()
		put("b")
		put("c")
		if time.Since(before) != 0 {
			t.Error("put waited")
		}
		if err := q.flush(time.Minute); !errors.Is(err, errBusy) || time.Since(before) != time.Minute {
			t.Errorf("flush: %v after %v", err, time.Since(before))
		}
		j.be(nil)
		put("d")
		if err := q.flush(time.Minute); err != nil {
			t.Error(err)
		}
		put("e")
		if got := strings.Join(j.took, ""); got != "abcde" {
			t.Errorf("journald has %q", got)
		}
	})
}

func TestQueueFallsBackWhereJournaldIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journaldStub{err: errors.New("connection refused")}
		var out bytes.Buffer
		q := newQueue(j, &out)
		for i := range 3 {
			q.put([]byte("x"), line(fmt.Sprint(i)))
		}
		if err := q.flush(time.Minute); err != nil {
			t.Error(err)
		}
		if out.String() != "0\n1\n2\n" {
			t.Errorf("fallback: %q", out.String())
		}
		j.be(nil) // it is back
		if q.put([]byte("x"), line("3")); len(j.took) != 1 {
			t.Errorf("%v", j.took)
		}
	})
}

func TestQueueCountsWhatFindsNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journaldStub{err: errBusy}
		q := newQueue(j, nil)
		big := bytes.Repeat([]byte("x"), maxQueuedBytes/4)
		for range 7 {
			q.put(big, line(""))
		}
		lost := q.lost
		if lost == 0 || lost == 7 {
			t.Fatalf("%d of 7 are lost", lost)
		}
		j.be(nil)
		if err := q.flush(time.Minute); err != nil {
			t.Error(err)
		}
		if last := j.took[len(j.took)-1]; len(j.took) != 7-lost+1 || !strings.Contains(last, fmt.Sprintf("took nothing: %d\n", lost)) {
			t.Errorf("%d entries, the last one %q", len(j.took), last[:min(len(last), 200)])
		}
		if q.bytes != 0 || q.waiting != nil {
			t.Errorf("%d bytes are still counted", q.bytes)
		}
	})
}

func BenchmarkCore(b *testing.B) {
	core := &Core{LevelEnabler: zap.InfoLevel, opts: Options{Identifier: "traposd"}, queue: newQueue(discard{}, nil)}
	log := zap.New(core).With(zap.String("server", "github"))
	b.ReportAllocs()
	for b.Loop() {
		log.Info("server ready", zap.Int("tools", 12))
	}
}

// discard is a journald that is never seen again.
type discard struct{}

func (discard) deliver([]byte) error { return nil }
func (discard) close() error         { return nil }
