package upstream

import (
	"context"
	"encoding/json"
	"time"

	"github.com/traposd/traposd/mcp"
)

// call is one request of ours that waits for its answer.
type call struct {
	id       int64
	method   string
	params   json.RawMessage // the asker's, for headers that repeat parts of them
	client   mcp.Client      // nil: nobody who could be asked stands behind it
	epoch    int             // which session of the server it was sent on
	progress chan json.RawMessage
	done     chan outcome // one slot; filled once, by whoever takes the call out of session.calls
	limit    time.Duration
	deadline time.Time // limit from its start or its last progress; zero: none; guarded by session.mu

	abandon context.CancelFunc   // ends its HTTP exchange; set by the link before the exchange begins; nil: none
	asked   []context.CancelFunc // ends the server's requests on its behalf; guarded by session.mu
	asking  int                  // of those, the questions that its client has not answered; guarded by session.mu
	over    bool                 // no more of those; guarded by session.mu
}

// outcome is the answer to a call.
type outcome struct {
	result json.RawMessage
	err    error
}

// deliver notes one progress notification; it never blocks.
func (c *call) deliver(params json.RawMessage) {
	select {
	case c.progress <- params:
	default:
	}
}

// flush hands out the progress that came before the result.
func (c *call) flush(progress func(json.RawMessage)) {
	for {
		select {
		case p := <-c.progress:
			progress(p)
		default:
			return
		}
	}
}
