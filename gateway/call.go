package gateway

import (
	"encoding/json"
	"time"
)

// call is one server_request. It gets exactly one reply, from whoever takes it out of its computer's tables.
type call struct {
	id       string
	request  string
	payload  []byte // ASCII JSON
	deadline time.Time
	done     chan reply // capacity 1, so that replying never blocks

	// Guarded by the computer's mu.
	sent      bool  // it has a slot: it was, or is being, written
	abandoned bool  // nobody waits for it, but the computer may not have consumed it yet
	barrier   int64 // the ping whose pong proves that it has; 0 = not sent yet
}

type reply struct {
	payload json.RawMessage
	err     *Error
}

func (c *call) timeoutMs(now time.Time) int64 { return max(1, c.deadline.Sub(now).Milliseconds()) }

// outgoing is a frame that may be too large for one message, and how much of it has been sent.
type outgoing struct {
	stream string // the id of the request or response in it: a cancel of that id ends the stream too
	frame  []byte
	offset int
	seq    int // of the next chunk
	acked  int // chunks below this number are acknowledged
	call   *call
	moved  time.Time // last progress
}

func (o *outgoing) windowOpen() bool { return o.seq-o.acked < chunkWindow }
