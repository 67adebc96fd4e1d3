package gateway

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// State says whether a connected computer's programs answer.
type State string

// The states of a connected computer.
const (
	StateReady        State = "ready"
	StateUnresponsive State = "unresponsive" // connected, but silent: a paused world, or a program that does not yield
)

// computer is one boot of one computer. It outlives its connection for a while: a reconnect of the same boot takes over
// its calls.
type computer struct {
	reg *Registry

	// Set by Registry.attach under both Registry.mu and mu; read under either.
	identity

	heard  atomic.Int64 // unix nanoseconds of the last frame
	silent atomic.Bool  // state is unresponsive

	mu          sync.Mutex
	session     *session // nil while it is away
	awayUntil   time.Time
	connectedAt time.Time
	superseded  []string         // boots that this identity had before, while it was connected; see Registry.attach
	calls       map[string]*call // those with a slot, by id
	queue       []*call          // those that wait for one, in order
	gone        bool             // out of the registry: takes no more calls
	nextPing    time.Time
	pingSent    int64 // number of the last ping; its t
	pingSeen    int64 // number of the last pong
	barrierSent int64 // the ping that was last sent only to free slots
}

func (c *computer) state() State {
	if c.silent.Load() {
		return StateUnresponsive
	}
	return StateReady
}

func (c *computer) snapshot() (Computer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		return Computer{}, false
	}
	return Computer{
		NetworkID: c.network, TraposID: c.traposID, ComputerID: c.computerID, Label: c.label,
		Serves: slices.Clone(c.serves), State: c.state(), ConnectedAt: c.connectedAt,
		LastSeen: time.Unix(0, c.heard.Load()), Remote: c.session.remote, Agent: c.agent,
	}, true
}

// submit queues a call. It refuses at once what cannot succeed.
func (c *computer) submit(cl *call) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.session == nil || c.gone:
		return newError(CodeDisconnected, "computer ", c.traposID, " lost its connection a moment ago; try again in a few seconds")
	case cl.request != "ping" && !slices.Contains(c.serves, cl.request):
		return newError(CodeUnknownType, "computer ", c.traposID, " does not serve ", strconv.Quote(cl.request),
			"; start the program that serves it there")
	case len(c.queue)+len(c.calls) >= c.reg.opts.QueueLength+maxInFlight:
		return newError(CodeBusy, "computer ", c.traposID, " has ", strconv.Itoa(len(c.queue)),
			" requests waiting; try again when it has answered some")
	}
	c.queue = append(c.queue, cl)
	c.session.pump()
	return nil
}

// nextCall takes the oldest waiting call if there is a free slot. mu is held.
func (c *computer) nextCall() *call {
	if len(c.queue) == 0 || len(c.calls) >= maxInFlight {
		return nil
	}
	cl := c.queue[0]
	c.queue[0] = nil
	c.queue = c.queue[1:]
	if len(c.queue) == 0 {
		c.queue = nil
	}
	if c.calls == nil {
		c.calls = make(map[string]*call, maxInFlight)
	}
	cl.sent = true
	c.calls[cl.id] = cl // before it is written: the answer may overtake the return of the write
	return cl
}

// answer gives a computer's reply to its call, and reports whether there was one. A late reply to an abandoned call
// only frees the slot.
func (c *computer) answer(id string, r reply) bool {
	c.mu.Lock()
	cl := c.calls[id]
	delete(c.calls, id)
	if s := c.session; cl != nil && s != nil {
		if s.active != nil && s.active.call == cl { // it was refused before its end: the rest need not go
			s.active = nil
			s.control = append(s.control, appendCancel(nil, id))
		}
		s.pump()
	}
	c.mu.Unlock()
	if cl == nil {
		return false
	}
	if !cl.abandoned { // nobody but its taker changes it now
		cl.done <- r
	}
	return true
}

// abandon gives a call up on its caller's behalf. It reports whether the call is now without a reply; if not, the reply
// is in done, or about to be.
func (c *computer) abandon(cl *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !cl.sent {
		i := slices.Index(c.queue, cl)
		if i >= 0 {
			c.queue = slices.Delete(c.queue, i, i+1)
		}
		return i >= 0
	}
	if c.calls[cl.id] != cl {
		return false
	}
	cl.abandoned = true
	cl.payload = nil
	if s := c.session; s != nil {
		if s.active != nil && s.active.call == cl {
			s.active = nil
		}
		s.control = append(s.control, appendCancel(nil, cl.id))
		c.sendBarrier()
		s.pump()
	}
	return true
}

// sendBarrier sends a ping behind everything that abandoned calls have put on the wire, unless one is under way: a
// computer handles its events in order, so that the pong proves that it has consumed them. mu is held.
func (c *computer) sendBarrier() {
	if c.session != nil && c.barrierSent <= c.pingSeen {
		c.barrierSent = c.ping()
	}
}

// ping queues a ping and returns its number. mu is held and session is not nil.
func (c *computer) ping() int64 {
	c.pingSent++
	for _, cl := range c.calls {
		if cl.abandoned && cl.barrier == 0 {
			cl.barrier = c.pingSent
		}
	}
	c.session.control = append(c.session.control, appendPing(nil, "ping", strconv.FormatInt(c.pingSent, 10)))
	c.session.pump()
	return c.pingSent
}

// pong frees the slots of the abandoned calls that ping t came after.
func (c *computer) pong(t int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t <= c.pingSeen || t > c.pingSent {
		return
	}
	c.pingSeen = t
	again := false
	for id, cl := range c.calls {
		switch {
		case !cl.abandoned:
		case cl.barrier == 0:
			again = true
		case cl.barrier <= t:
			delete(c.calls, id)
		}
	}
	if again {
		c.sendBarrier()
	}
	if c.session != nil {
		c.session.pump()
	}
}

// setServes replaces the list of what the computer serves.
func (c *computer) setServes(types []string) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed = !slices.Equal(c.serves, types)
	c.serves = types
	return changed
}

// adopt makes s the connection of c, as id describes it now, and returns the one before, if there is one. Registry.mu
// is held.
func (c *computer) adopt(s *session, id *identity, now time.Time) (old *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old = c.leave()
	c.session, s.computer, c.identity = s, c, *id
	c.connectedAt, c.awayUntil = now, time.Time{}
	// Computers that connected together do not have to be asked together for ever.
	opts := c.reg.opts
	first := opts.Heartbeat / 2
	c.nextPing = now.Add(first + time.Duration(c.reg.jitter.Add(0x9e3779b97f4a7c15)%uint64(first+1)))
	c.heard.Store(now.UnixNano())
	c.silent.Store(false)
	s.control = append(s.control, appendHelloOK(nil, c.traposID, max(1, int(opts.Heartbeat/time.Second)), opts.MaxFrameBytes, s.proof))
	s.proof = ""
	c.carryOver()
	s.pump()
	return old
}

// leave ends c's use of its connection, and returns it. mu is held.
func (c *computer) leave() *session {
	s := c.session
	c.session = nil
	if s == nil || s.active == nil {
		return s
	}
	// The last chunk of this request was not taken up by the writer, so that the computer cannot have acted on it: it is
	// the only kind of request that may go over the wire once more.
	if cl := s.active.call; cl != nil && c.calls[cl.id] == cl && !cl.abandoned {
		cl.sent = false
		delete(c.calls, cl.id)
		c.queue = slices.Insert(c.queue, 0, cl)
	}
	s.active = nil
	return s
}

// carryOver takes the calls of the connection before over to the new one. mu is held.
func (c *computer) carryOver() {
	c.barrierSent, c.pingSeen = c.pingSent, c.pingSent // pings that are under way may be lost with the old connection
	abandoned := false
	for _, cl := range c.calls {
		cl.barrier = 0
		if cl.abandoned {
			abandoned = true
			c.session.control = append(c.session.control, appendCancel(nil, cl.id))
		}
	}
	if abandoned {
		c.sendBarrier()
	}
}

// takeCalls empties the tables and marks c as gone: who called it must fail what it returns.
func (c *computer) takeCalls() []*call {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	var open []*call
	for _, cl := range c.calls {
		if !cl.abandoned {
			open = append(open, cl)
		}
	}
	open = append(open, c.queue...)
	c.calls, c.queue = nil, nil
	return open
}

func failCalls(calls []*call, err *Error) {
	for _, cl := range calls {
		cl.done <- reply{err: err}
	}
}
