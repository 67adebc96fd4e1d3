package gateway

import "sync/atomic"

// assembler puts the chunked frames of one connection together. Only the connection's reader uses it.
//
// A frame above the limits is not kept, but read to its end: the connection lives, and the request that the frame
// belongs to fails alone.
type assembler struct {
	limit   int           // bytes of all streams of this connection together
	total   *atomic.Int64 // bytes of all connections together, bounded by maxAssemblingTotal
	held    int
	streams map[string]*assembly
	chunks  uint64 // so far, to know which stream has been left alone the longest
}

type assembly struct {
	buf       []byte
	next      int       // the seq that is due
	reject    Code      // why the frame is thrown away, "" while it is not
	scan      topFields // only while it is thrown away
	discarded int
	touched   uint64 // assembler.chunks when its last chunk came
}

// assembled is a complete frame, or, with reject set, what is known of one that was thrown away.
type assembled struct {
	frame    []byte
	reject   Code
	typ, id  string // of the rejected frame
	complete bool
	unknown  bool // the chunk is of a stream that was cancelled or displaced: nothing is to be done
}

// add takes one chunk. The error ends the connection: a sender that skips a number has lost count.
func (a *assembler) add(f *inbound) (assembled, *Error) {
	if !validID(f.ID) {
		return assembled{}, newError(CodeBadRequest, "a chunk's id must be 1 to 64 printable characters")
	}
	s := a.streams[f.ID]
	if f.Seq == 0 {
		s = a.begin(f.ID)
	}
	switch {
	case s == nil:
		return assembled{unknown: true}, nil
	case float64(s.next) != f.Seq:
		return assembled{}, newError(CodeBadRequest, "a chunk is out of order")
	}
	s.next++
	a.chunks++
	s.touched = a.chunks
	if err := a.put(s, f.Data); err != nil {
		return assembled{}, err
	}
	if !f.Last {
		return assembled{}, nil
	}
	a.drop(f.ID)
	return assembled{frame: s.buf, reject: s.reject, typ: s.scan.typ, id: s.scan.id, complete: true}, nil
}

// begin makes a stream, in the place of one of the same id. When there are too many, the one that has been left alone the
// longest goes: a computer that gives a response up half-way, since its request was cancelled, need not say so.
func (a *assembler) begin(id string) *assembly {
	a.drop(id)
	if len(a.streams) >= maxStreams {
		stale := ""
		for other, s := range a.streams {
			if stale == "" || s.touched < a.streams[stale].touched {
				stale = other
			}
		}
		a.drop(stale)
	}
	if a.streams == nil {
		a.streams = make(map[string]*assembly)
	}
	s := &assembly{}
	a.streams[id] = s
	return s
}

func (a *assembler) put(s *assembly, data []byte) *Error {
	if s.reject == "" {
		switch {
		case a.held+len(data) > a.limit:
			s.reject = CodeTooLarge
		case a.total.Add(int64(len(data))) > maxAssemblingTotal:
			a.total.Add(-int64(len(data)))
			s.reject = CodeBusy
		default:
			a.held += len(data)
			s.buf = append(s.buf, data...)
			return nil
		}
		s.scan.write(s.buf)
		a.release(s)
	}
	s.scan.write(data)
	s.discarded += len(data)
	if s.discarded > maxDiscarded {
		return newError(CodeTooLarge, "a chunked frame has no end")
	}
	return nil
}

// drop forgets a stream; s.buf stays valid for who holds it.
func (a *assembler) drop(id string) {
	if s := a.streams[id]; s != nil {
		n := len(s.buf)
		a.held -= n
		a.total.Add(-int64(n))
		delete(a.streams, id)
	}
}

func (a *assembler) release(s *assembly) {
	a.held -= len(s.buf)
	a.total.Add(-int64(len(s.buf)))
	s.buf = nil
}

// close gives back what the connection held.
func (a *assembler) close() {
	for id := range a.streams {
		a.drop(id)
	}
}

// topFields reads JSON text in pieces and remembers the strings "type" and "id" of the outermost object, wherever they
// stand in it: Lua writes the fields of a table in any order.
type topFields struct {
	typ, id string

	depth    int
	inString bool
	escaped  bool
	isValue  bool
	key      string
	text     []byte
}

func (t *topFields) write(p []byte) {
	for _, c := range p {
		if t.inString {
			t.stringByte(c)
			continue
		}
		switch c {
		case '"':
			t.inString, t.text = true, t.text[:0]
		case '{', '[':
			t.depth++
		case '}', ']':
			t.depth--
		case ':':
			t.isValue = true
		case ',':
			t.isValue = false
		}
	}
}

func (t *topFields) stringByte(c byte) {
	switch {
	case t.escaped:
		t.escaped = false
	case c == '\\':
		t.escaped = true
		return
	case c == '"':
		t.inString = false
		t.endString()
		return
	}
	if t.depth == 1 && len(t.text) <= maxIDLength {
		t.text = append(t.text, c)
	}
}

func (t *topFields) endString() {
	if t.depth != 1 {
		return
	}
	if !t.isValue {
		t.key = string(t.text)
		return
	}
	switch t.key {
	case "type":
		t.typ = string(t.text)
	case "id":
		t.id = string(t.text)
	}
}
