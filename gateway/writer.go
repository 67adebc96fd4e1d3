package gateway

import (
	"sync"
	"time"
)

// piece is the next thing to write: a frame, a request to be made into one, or a slice of a chunked one.
type piece struct {
	frame  []byte
	call   *call
	stream string
	seq    int
	last   bool
	data   []byte
	close  bool
}

// pump starts the writer if there is something for it. computer.mu is held.
//
// The WaitGroup cannot be at zero here: the reader, which it counts, sets ended before it leaves.
func (s *session) pump() {
	if s.writing || s.ended || !s.hasWork() {
		return
	}
	s.writing = true
	s.g.running.Go(s.write)
}

// kick has the writer send what the WebSocket library wrote by itself, a pong or the echo of a close frame.
func (s *session) kick() {
	if s.computer == nil {
		_ = s.batch.flush(closeGrace) // no hello yet, and so no writer
		return
	}
	s.computer.mu.Lock()
	defer s.computer.mu.Unlock()
	s.pump()
}

func (s *session) hasWork() bool {
	switch {
	case s.closing != nil:
		return !s.closeSent
	case len(s.control) > 0, s.batch.size() > 0:
		return true
	case s.active != nil:
		return s.active.windowOpen()
	default:
		c := s.computer
		return len(s.responses) > 0 || (c.session == s && len(c.queue) > 0 && len(c.calls) < maxInFlight)
	}
}

// write writes until there is nothing left.
func (s *session) write() {
	c := s.computer
	buf := writePool.Get().(*[]byte)
	defer writePool.Put(buf)
	for {
		c.mu.Lock()
		p, ok := s.next()
		waiting := s.batch.size()
		if !ok && waiting == 0 {
			s.writing = false
			c.mu.Unlock()
			return
		}
		closing := s.closing
		c.mu.Unlock()
		if p.close {
			s.writeClose(s.closeWith, closing.Message)
			close(s.finished)
			continue
		}
		var err error
		if ok {
			err = s.writePiece(buf, p)
		}
		if err == nil && (!ok || waiting >= batchBytes) {
			err = s.batch.flush(s.g.opts.Unresponsive)
		}
		if err != nil {
			// The reader notices, and ends the session.
			_ = s.conn.Close()
			s.stopWriting()
			return
		}
	}
}

// stopWriting is for a connection that takes no more: what waits stays unsent.
func (s *session) stopWriting() {
	c := s.computer
	c.mu.Lock()
	defer c.mu.Unlock()
	s.writing = false
	s.ended = true
	close(s.finished) // no close frame was written: nothing is, after it
	s.freeRoom()
}

// next takes what is to be written next. computer.mu is held.
func (s *session) next() (piece, bool) {
	switch {
	case s.ended:
		return piece{}, false
	case s.closing != nil:
		if s.closeSent {
			return piece{}, false
		}
		s.closeSent = true
		return piece{close: true}, true
	case len(s.control) > 0:
		f := s.control[0]
		s.control[0] = nil
		s.control = s.control[1:]
		if len(s.control) == 0 {
			s.control = nil
		}
		if len(s.control) <= maxControl/2 {
			s.freeRoom()
		}
		return piece{frame: f}, true
	case s.active != nil:
		if !s.active.windowOpen() {
			return piece{}, false
		}
		return s.nextChunk(), true
	case len(s.responses) > 0:
		o := s.responses[0]
		s.responses = s.responses[1:]
		delete(s.asked, o.stream)
		if len(o.frame) > s.g.opts.MaxFrameBytes {
			s.startStream(o)
			return s.nextChunk(), true
		}
		return piece{frame: o.frame}, true
	}
	if s.computer.session == s { // a connection that was replaced must not take what belongs to the new one
		if cl := s.computer.nextCall(); cl != nil {
			return piece{call: cl, data: cl.payload}, true
		}
	}
	return piece{}, false
}

func (s *session) startStream(o *outgoing) {
	o.moved = time.Now()
	s.active = o
}

func (s *session) nextChunk() piece {
	o := s.active
	end := min(len(o.frame), o.offset+chunkDataBytes(s.g.opts.MaxFrameBytes))
	p := piece{stream: o.stream, seq: o.seq, last: end == len(o.frame), data: o.frame[o.offset:end]}
	o.offset, o.seq = end, o.seq+1
	if p.last {
		s.active = nil
	}
	return p
}

// acknowledge moves the window of the chunked frame under way.
func (s *session) acknowledge(stream string, seq float64) (expected bool) {
	c := s.computer
	c.mu.Lock()
	defer c.mu.Unlock()
	o := s.active
	if o == nil || o.stream != stream || seq < float64(o.acked) || seq >= float64(o.seq) {
		return false
	}
	o.acked, o.moved = int(seq)+1, time.Now()
	s.pump()
	return true
}

func (s *session) freeRoom() {
	if s.room != nil {
		close(s.room)
		s.room = nil
	}
}

func (s *session) writePiece(buf *[]byte, p piece) error {
	b := (*buf)[:0]
	switch {
	case p.call != nil:
		large := len(p.data) > s.g.opts.MaxFrameBytes-requestEnvelope
		if large {
			b = make([]byte, 0, len(p.data)+requestEnvelope) // it will be kept until its last chunk is sent
		}
		b = appendRequest(b, p.call.id, p.call.request, p.call.timeoutMs(time.Now()), p.data)
		if large {
			s.stream(p.call, b)
			return nil
		}
		*buf = b
	case p.frame != nil:
		b = p.frame
	default:
		b = appendChunk(b, p.stream, p.seq, p.last, p.data)
		*buf = b
	}
	return s.writeText(b)
}

// stream makes a request that is too large for one message the chunked frame under way, unless its caller has given up.
func (s *session) stream(cl *call, frame []byte) {
	c := s.computer
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[cl.id] == cl && !cl.abandoned {
		s.startStream(&outgoing{stream: cl.id, frame: frame, call: cl})
	}
}

// writePool holds the buffers that frames are made in; maxFrameBytes bounds them.
var writePool = sync.Pool{New: func() any { b := make([]byte, 0, 1<<10); return &b }}
