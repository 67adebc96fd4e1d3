package upstream

import (
	"os"
	"sync/atomic"
	"syscall"
)

// writeBatch is how much is written at once when many messages wait.
const writeBatch = 64 << 10

// stdin carries messages to a child process. A sender writes its own message if nothing waits before it and the pipe
// takes it at once; everything else is left to run, so that no sender stands still because a child does not read. One
// switch of goroutines less is about a tenth of what a call costs here.
//
// writeNow may be called concurrently, beside one run. The messages of one sender arrive in the order in which it gave
// them.
type stdin struct {
	file    *os.File
	raw     syscall.RawConn // nil: the pipe cannot be written to without waiting
	turn    chan struct{}   // one slot, full while somebody writes
	rest    chan []byte     // one slot: what the pipe did not take of a sender's message; the turn goes with it
	queue   chan []byte
	waiting atomic.Int64 // messages that are in queue, or on their way into it or out of it

	some    func(fd uintptr) bool // writes what it can of line and counts it in written; made once, as every call needs it
	line    []byte                // guarded by turn
	written int                   // guarded by turn
}

func newStdin(file *os.File) *stdin {
	s := &stdin{
		file: file, raw: rawPipe(file),
		turn: make(chan struct{}, 1), rest: make(chan []byte, 1), queue: make(chan []byte, maxQueuedMessages),
	}
	s.some = func(fd uintptr) bool {
		s.written = writeSome(fd, s.line)
		return true // whatever came of it: it is not to wait for room
	}
	return s
}

// writeNow writes a message without waiting, or at least its beginning, if run sees to the rest. It reports false if the
// message has to be queued.
func (s *stdin) writeNow(line []byte) bool {
	if s.raw == nil || s.waiting.Load() > 0 {
		return false
	}
	select {
	case s.turn <- struct{}{}:
	default:
		return false
	}
	s.line, s.written = line, 0
	_ = s.raw.Write(s.some) // what is wrong with the pipe, run finds out
	n := s.written
	s.line = nil
	if n < len(line) {
		s.rest <- line[n:] // it is empty: only the holder of the turn fills it
		return true
	}
	<-s.turn
	return true
}

// run writes what is queued, several messages at once when they wait already, until quit or gone is closed or the pipe
// breaks, which is the error.
func (s *stdin) run(quit, gone <-chan struct{}) error {
	var batch []byte
	for {
		count := 0
		batch = batch[:0]
		select {
		case rest := <-s.rest:
			batch = append(batch, rest...)
		case line := <-s.queue:
			batch, count = append(batch, line...), 1
			select {
			case s.turn <- struct{}{}:
			case rest := <-s.rest: // the turn comes with it; what it is the rest of goes first
				batch = append(append(batch[:0], rest...), line...)
			case <-quit:
				return nil
			case <-gone:
				return nil
			}
		case <-quit:
			return nil
		case <-gone:
			return nil
		}
		for more := true; more && len(batch) < writeBatch; {
			select {
			case line := <-s.queue:
				batch, count = append(batch, line...), count+1
			default:
				more = false
			}
		}
		if _, err := s.file.Write(batch); err != nil {
			return err
		}
		s.waiting.Add(int64(-count))
		<-s.turn
		if cap(batch) > 4*writeBatch {
			batch = nil
		}
	}
}
