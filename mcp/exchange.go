package mcp

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/traposd/traposd/mcp/wire"
)

// exchange is the response to one POST. It begins as a plain JSON answer and turns into an event stream the moment that
// something has to reach the client before the answer, if the client accepts one.
//
// push may be called from any goroutine; answer and close only from the handler's own.
type exchange struct {
	w         http.ResponseWriter
	streams   bool // the client accepts an event stream
	heartbeat time.Duration

	mu     sync.Mutex
	out    *outbox       // guarded by mu; nil until the response is a stream
	closed bool          // guarded by mu
	done   chan struct{} // closed when the writer has ended; made with out
	timer  *time.Timer   // turns a long wait into a stream that shows life
}

func newExchange(w http.ResponseWriter, r *http.Request, heartbeat time.Duration) *exchange {
	x := &exchange{w: w, streams: acceptsStream(r), heartbeat: heartbeat}
	switch {
	case x.streams && !acceptsJSON(r):
		x.stream()
	case x.streams:
		// Clients give up on a response without a byte (Node's fetch after 300 s), however long the call may take.
		x.mu.Lock()
		x.timer = time.AfterFunc(heartbeat, func() { x.stream() })
		x.mu.Unlock()
	}
	return x
}

// push sends a message ahead of the answer and reports whether it was taken in. It does not block.
func (x *exchange) push(message []byte) bool {
	out := x.stream()
	return out != nil && out.put(message)
}

// stream makes the response a stream, and gives nil if it cannot be one or has ended.
func (x *exchange) stream() *outbox {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.streams || x.closed {
		return nil
	}
	if x.out == nil {
		x.out, x.done = newOutbox(), make(chan struct{})
		go x.write(x.out)
	}
	return x.out
}

// write is the one goroutine that writes to a response that is a stream; answer waits for it.
func (x *exchange) write(out *outbox) {
	defer close(x.done)
	events := newEventWriter(x.w)
	defer events.end()
	err := events.start()
	beat := time.NewTicker(max(x.heartbeat, time.Second))
	defer beat.Stop()
	for {
		select {
		case <-beat.C:
			if err == nil {
				err = events.comment()
			}
		case <-out.wake:
		}
		messages, closed := out.take()
		if err == nil {
			err = events.messages(messages)
		}
		if closed {
			return
		}
	}
}

// answer ends the response: with what has been pushed, then the body, which is one JSON value in parts.
func (x *exchange) answer(status int, parts ...[]byte) {
	x.mu.Lock()
	x.closed = true
	out := x.out
	if x.timer != nil {
		x.timer.Stop()
	}
	x.mu.Unlock()
	if out == nil {
		writeJSON(x.w, status, parts...)
		return
	}
	whole := make([]byte, 0, total(parts))
	for _, part := range parts {
		whole = append(whole, part...)
	}
	out.finish(whole)
	<-x.done
}

// abandon ends an exchange that has no answer and has pushed nothing.
func (x *exchange) abandon() {
	x.mu.Lock()
	x.closed = true
	if x.timer != nil {
		x.timer.Stop()
	}
	x.mu.Unlock()
}

// finish appends the last message whatever the bounds, and closes.
func (o *outbox) finish(message []byte) {
	o.mu.Lock()
	o.queue = append(o.queue, message)
	o.closed = true
	o.mu.Unlock()
	o.signal()
}

func total(parts [][]byte) int {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	return n
}

// writeJSON writes one JSON value that comes in parts.
func writeJSON(w http.ResponseWriter, status int, parts ...[]byte) {
	size := total(parts)
	h := w.Header()
	h["Content-Type"] = contentTypeJSON
	h["Content-Length"] = []string{strconv.Itoa(size)}
	// At least 1 MB/s. It stays when the handler has ended, since most of an answer may be written only then.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout + time.Duration(size)*time.Microsecond))
	w.WriteHeader(status)
	for _, part := range parts {
		if _, err := w.Write(part); err != nil {
			return // the client has gone; there is nobody to tell
		}
	}
}

var contentTypeJSON = []string{"application/json"}

// writeError answers with a JSON-RPC error; a nil id becomes null.
func writeError(w http.ResponseWriter, status int, id []byte, err *wire.Error) {
	writeJSON(w, status, wire.ErrorResponse(id, err).Append(nil))
}
