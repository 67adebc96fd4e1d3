package journal

import (
	"errors"
	"io"
	"strconv"
	"sync"
	"time"
)

// Bounds on what waits while journald takes nothing. A stopped journald is back within a minute or never, and 16 MiB hold
// some fifty thousand entries.
const (
	maxQueued      = 65536
	maxQueuedBytes = 16 << 20
)

// Pauses between two attempts to hand over what waits.
const (
	minPause = time.Millisecond
	maxPause = 250 * time.Millisecond
)

// errBusy is a journald that takes nothing at the moment, and may soon.
var errBusy = errors.New("journald takes nothing at the moment")

// deliverer hands one message to journald without ever blocking. It fails with errBusy, or for good: journald is not there, or
// will not take this one.
type deliverer interface {
	deliver(data []byte) error
	close() error
}

// queued is an entry that waits.
type queued struct {
	data []byte // for journald
	line []byte // for the fallback
}

// queue brings entries to journald in their order.
type queue struct {
	to       deliverer
	fallback io.Writer

	mu      sync.Mutex
	waiting []queued
	bytes   int
	lost    int           // entries that found no room
	drained chan struct{} // closed when nothing waits any more; nil if nothing does
}

func newQueue(to deliverer, fallback io.Writer) *queue {
	if fallback == nil {
		fallback = io.Discard
	}
	return &queue{to: to, fallback: fallback}
}

// put hands an entry over, at once if nothing waits before it. The attempt is made under the lock, which keeps the order;
// it does not block. line is asked for if the entry has to wait. An entry that finds no room is counted, and told of later:
// an error here would make zap write to stderr, which below systemd is journald again.
func (q *queue) put(data []byte, line func() ([]byte, error)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.drained == nil {
		if q.to.deliver(data) == nil {
			return
		}
	}
	text, err := line()
	if err != nil {
		text = nil // the fallback does without this one
	}
	size := len(data) + len(text)
	if len(q.waiting) >= maxQueued || q.bytes+size > maxQueuedBytes {
		q.lost++
		return
	}
	q.waiting = append(q.waiting, queued{data, text})
	q.bytes += size
	if q.drained == nil {
		q.drained = make(chan struct{})
		go q.drain(q.drained) // ends when nothing waits; flush waits for that
	}
}

// drain hands over what waits, until nothing does.
func (q *queue) drain(done chan struct{}) {
	defer close(done)
	pause := minPause
	for {
		next, more := q.first()
		if !more {
			return
		}
		err := q.to.deliver(next.data)
		if errors.Is(err, errBusy) {
			time.Sleep(pause)
			pause = min(2*pause, maxPause)
			continue
		}
		if err != nil {
			_, _ = q.fallback.Write(next.line) // there is nowhere left to tell that this fails
		}
		pause = minPause
		q.took(next)
	}
}

// first is the entry whose turn it is. If there is none, the queue counts as drained from now on.
func (q *queue) first() (queued, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) > 0 {
		return q.waiting[0], true
	}
	if q.lost > 0 {
		var m entry
		m.add("MESSAGE", "log entries were lost while journald took nothing: "+strconv.Itoa(q.lost))
		m.add("PRIORITY", "4")
		q.lost = 0
		q.waiting = append(q.waiting, queued{data: m.data})
		q.bytes += len(m.data)
		return q.waiting[0], true
	}
	q.waiting, q.drained = nil, nil
	return queued{}, false
}

func (q *queue) took(e queued) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting[0] = queued{}
	q.waiting = q.waiting[1:]
	q.bytes -= len(e.data) + len(e.line)
}

// flush waits until nothing waits any more, for limit at most.
func (q *queue) flush(limit time.Duration) error {
	q.mu.Lock()
	drained := q.drained
	q.mu.Unlock()
	if drained == nil {
		return nil
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-drained:
		return nil
	case <-timer.C:
		return errBusy
	}
}
