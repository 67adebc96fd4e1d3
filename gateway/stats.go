package gateway

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Stats are counts since New, and what is connected now. They are no exact cut through one moment.
type Stats struct {
	FramesReceived, FramesSent uint64          // text messages of computers and to them; a chunk is one, pings of WebSocket are none
	BytesReceived, BytesSent   uint64          // of those messages, before the framing of WebSocket
	Refused                    map[Code]uint64 // computers that were told why they cannot come in; codes that did not occur are absent
	Computers                  map[State]int   // connected now; always has every state
}

// OutcomeOK is the Outcome of a request that was answered; that of any other is the Code of its error.
const OutcomeOK Code = "ok"

// Observation is one request to a computer, once it has ended; see Options.Observe.
type Observation struct {
	Type     string        // as the caller gave it: it may be any text
	Outcome  Code          // OutcomeOK, or the code of the error
	Duration time.Duration // from the call to the answer, with the time in the queue
}

// counters are what Stats is made of. All methods may be called concurrently.
type counters struct {
	framesIn, framesOut, bytesIn, bytesOut atomic.Uint64

	mu      sync.Mutex
	refused map[Code]uint64 // the keys are our own codes, and so bounded
}

func (c *counters) received(bytes int64) {
	c.framesIn.Add(1)
	c.bytesIn.Add(uint64(bytes))
}

func (c *counters) sent(bytes int) {
	c.framesOut.Add(1)
	c.bytesOut.Add(uint64(bytes))
}

func (c *counters) refuse(code Code) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == nil {
		c.refused = make(map[Code]uint64)
	}
	c.refused[code]++
}

// Stats returns the counts. It costs one look at each computer, and takes no computer's lock for longer than that.
func (g *Gateway) Stats() Stats {
	s := Stats{
		FramesReceived: g.counters.framesIn.Load(), FramesSent: g.counters.framesOut.Load(),
		BytesReceived: g.counters.bytesIn.Load(), BytesSent: g.counters.bytesOut.Load(),
		Refused: map[Code]uint64{}, Computers: make(map[State]int, 2),
	}
	g.counters.mu.Lock()
	maps.Copy(s.Refused, g.counters.refused)
	g.counters.mu.Unlock()
	ready, unresponsive := 0, 0
	for _, c := range g.registry.all(nil) {
		switch {
		case !c.connected():
		case c.silent.Load():
			unresponsive++
		default:
			ready++
		}
	}
	s.Computers[StateReady], s.Computers[StateUnresponsive] = ready, unresponsive
	return s
}

func (c *computer) connected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session != nil
}

// observe tells Options.Observe of a request that has ended.
func (r *Registry) observe(requestType string, began time.Time, e *Error) {
	if r.opts.Observe == nil {
		return
	}
	outcome := OutcomeOK
	if e != nil {
		outcome = e.Code
	}
	r.opts.Observe(Observation{Type: requestType, Outcome: outcome, Duration: time.Since(began)})
}
