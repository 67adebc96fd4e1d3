package mcp

import (
	"bytes"
	"iter"
	"net/http"
	"sync"
	"time"
)

// Bounds of one response stream.
const (
	maxQueued      = 1024             // messages that wait for a slow reader; further ones are dropped
	maxQueuedBytes = 8 << 20          // bytes of them, unless it is a single one
	writeTimeout   = 30 * time.Second // for one write to a client that does not read
)

// outbox holds the messages of one event stream until they are written. Putting never blocks.
type outbox struct {
	mu     sync.Mutex
	queue  [][]byte      // guarded by mu
	bytes  int           // guarded by mu; in queue
	closed bool          // guarded by mu; nothing is taken in any more
	wake   chan struct{} // one slot: queue or closed has changed
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// put appends a message and reports whether there was room for it.
func (o *outbox) put(message []byte) bool {
	o.mu.Lock()
	full := len(o.queue) >= maxQueued || len(o.queue) > 0 && o.bytes+len(message) > maxQueuedBytes
	accepted := !o.closed && !full
	if accepted {
		o.queue = append(o.queue, message)
		o.bytes += len(message)
	}
	o.mu.Unlock()
	if accepted {
		o.signal()
	}
	return accepted
}

// close lets the reader end once it has taken what is there.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.signal()
}

// take empties the queue.
func (o *outbox) take() (messages [][]byte, closed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	messages, o.queue, o.bytes = o.queue, nil, 0
	return messages, o.closed
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// eventWriter writes server-sent events to one response. It is not safe for concurrent use.
type eventWriter struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	buf bytes.Buffer
}

func newEventWriter(w http.ResponseWriter) *eventWriter {
	return &eventWriter{w: w, rc: http.NewResponseController(w)}
}

// start sends the headers at once, so that the client knows the stream is open.
func (e *eventWriter) start() error {
	h := e.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	e.w.WriteHeader(http.StatusOK)
	return e.comment()
}

// comment writes a line that every client ignores: it keeps the connection from looking dead.
func (e *eventWriter) comment() error {
	e.buf.WriteString(":\n\n")
	return e.flush()
}

// messages writes one event for each message.
func (e *eventWriter) messages(list [][]byte) error {
	for _, message := range list {
		e.buf.WriteString("event: message\n")
		for line := range eventLines(message) {
			e.buf.WriteString("data: ")
			e.buf.Write(line)
			e.buf.WriteByte('\n')
		}
		e.buf.WriteByte('\n')
	}
	if e.buf.Len() == 0 {
		return nil
	}
	return e.flush()
}

func (e *eventWriter) flush() error {
	// Without a deadline, one client that stops reading would hold its handler for ever. Not every writer has deadlines.
	_ = e.rc.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := e.w.Write(e.buf.Bytes())
	e.buf.Reset()
	if err != nil {
		return err
	}
	return e.rc.Flush()
}

// end leaves time for the end of the response, which the HTTP server writes.
func (e *eventWriter) end() { _ = e.rc.SetWriteDeadline(time.Now().Add(writeTimeout)) }

// eventLines splits a message where its JSON has line breaks: an event's data may have none within a line.
func eventLines(message []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for {
			i := bytes.IndexByte(message, '\n')
			if j := bytes.IndexByte(message[:max(i, 0)], '\r'); i < 0 {
				i = bytes.IndexByte(message, '\r')
			} else if j >= 0 {
				i = j
			}
			if i < 0 {
				yield(message)
				return
			}
			if !yield(message[:i]) {
				return
			}
			message = message[i+1:]
		}
	}
}
