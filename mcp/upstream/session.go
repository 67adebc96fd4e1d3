package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/mirror"
	"github.com/traposd/traposd/mcp/wire"
)

// link is one connection to a server. Its methods may be called concurrently.
type link interface {
	// send puts one message on its way. It does not wait for an answer, and ctx bounds the sending only. c is the call that
	// the message begins; nil for everything else.
	send(ctx context.Context, m *wire.Message, c *call) error

	// use tells the revision that was agreed on.
	use(revision string)

	// listen starts what carries the server's own messages besides answers, after the handshake.
	listen()

	// dead is closed when the connection is of no more use.
	dead() <-chan struct{}

	// why tells the reason; only after dead is closed.
	why() error

	// close ends the connection, politely first, and waits until nothing of it is left. polite is false when there is
	// nothing to lose by haste.
	close(polite bool)
}

// kind is one of the lists a server offers.
type kind int

const (
	kindTools kind = iota
	kindPrompts
	kindResources
	kindTemplates
	kinds
)

// session correlates the messages on one link: calls with their answers and their progress, requests of the server with
// those of our calls that they belong to. The link calls receive and lost from its own goroutines.
type session struct {
	name   string // the server's, for messages
	log    *zap.Logger
	times  Times
	link   link
	client identity

	notified func(method string, params json.RawMessage) // what belongs to no call
	changed  [kinds]chan struct{}                        // one slot each: that list is not what it was
	logs     func() (level string, ok bool)              // what it is to log; see Options.LogLevel

	background sync.WaitGroup // answers to the server, and cancellations
	slots      chan struct{}  // bounds the answers
	ended      context.Context
	end        context.CancelCauseFunc

	mu        sync.Mutex
	next      int64
	calls     map[int64]*call
	deadlines deadlines
	lastAsker *call // whose question came last, at lastAsked; nil: nobody's, or its call is over
	lastAsked time.Time
	inbound   map[string]context.CancelFunc // requests of the server that are being answered, by its id
	failed    error                         // no more calls
	hello     hello                         // what the handshake agreed on
	renewing  *renewal                      // nil: none
	logLevel  json.RawMessage               // for 2026-07-28, which has no logging/setLevel
	headers   map[string][]mirror.Param     // for 2026-07-28: by tool
	watched   map[string]bool               // for 2026-07-28: subscribed resources
	listenOn  context.CancelFunc            // for 2026-07-28: ends subscriptions/listen
}

func newSession(name string, log *zap.Logger, times Times, client identity) *session {
	s := &session{
		name: name, log: log, times: times, client: client,
		notified: func(string, json.RawMessage) {},
		logs:     func() (string, bool) { return "", false },
		slots:    make(chan struct{}, maxServerRequests),
		calls:    map[int64]*call{},
		inbound:  map[string]context.CancelFunc{},
		watched:  map[string]bool{},
	}
	s.ended, s.end = context.WithCancelCause(context.Background())
	for k := range s.changed {
		s.changed[k] = make(chan struct{}, 1)
	}
	return s
}

// relay sends one request of an asker and waits for its answer; see mcp.Server for what it promises.
func (s *session) relay(ctx context.Context, req mcp.Request, limit time.Duration) (json.RawMessage, error) {
	if result, done := s.bridge(req); done {
		return result, nil
	}
	result, err := s.call(ctx, req, limit)
	if errors.Is(err, errSessionGone) {
		return nil, wire.Errorf(mcp.CodeServerDown, "server %q forgets its session again and again", s.name)
	}
	if err == nil && s.modern() {
		return s.fulfil(ctx, req, result, limit)
	}
	return result, err
}

// call sends a request, once more if the session turns out to be gone.
func (s *session) call(ctx context.Context, req mcp.Request, limit time.Duration) (json.RawMessage, error) {
	result, epoch, err := s.once(ctx, req, limit)
	if !errors.Is(err, errSessionGone) {
		return result, err
	}
	if err := s.renew(ctx, epoch); err != nil {
		return nil, err
	}
	result, _, err = s.once(ctx, req, limit)
	return result, err
}

// once sends a request and waits for the answer, the end of ctx, or limit without an answer or progress.
func (s *session) once(ctx context.Context, req mcp.Request, limit time.Duration) (json.RawMessage, int, error) {
	c, hello, err := s.register(req, limit)
	if err != nil {
		return nil, hello.epoch, err
	}
	defer s.forget(c)
	m := &wire.Message{ID: formatID(c.id), Method: req.Method, Params: s.decorate(req, c, hello)}
	if size := len(m.Params); size > maxMessageBytes {
		return nil, c.epoch, wire.Errorf(mcp.CodeTooLarge, "the request to server %q has %d bytes; the limit is %d", s.name, size, maxMessageBytes)
	}
	if err := s.link.send(ctx, m, c); err != nil {
		if ctx.Err() != nil {
			return nil, c.epoch, context.Cause(ctx)
		}
		return nil, c.epoch, err
	}
	for {
		select {
		case p := <-c.progress:
			req.Progress(p)
		case o := <-c.done:
			if errors.Is(o.err, errExpired) {
				s.withdraw(c, "the time limit has passed")
				o.err = wire.Errorf(mcp.CodeTimeout, "server %q did not answer %s within %v; raise \"timeout\" in its entry if it needs longer", s.name, req.Method, limit)
			}
			c.flush(req.Progress)
			return o.result, c.epoch, o.err
		case <-ctx.Done():
			if s.take(c.id) != nil || errors.Is((<-c.done).err, errExpired) { // else it was answered meanwhile
				s.withdraw(c, "the asker went away")
			}
			return nil, c.epoch, context.Cause(ctx)
		}
	}
}

func (s *session) register(req mcp.Request, limit time.Duration) (*call, hello, error) {
	c := &call{method: req.Method, params: req.Params, client: req.Client, limit: limit, done: make(chan outcome, 1)}
	if req.Progress != nil {
		c.progress = make(chan json.RawMessage, maxQueuedProgress)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return nil, hello{}, s.failed
	}
	if s.renewing != nil && req.Method != "initialize" && req.Method != "server/discover" {
		return nil, hello{epoch: s.hello.epoch}, errSessionGone // the caller waits for the new one
	}
	s.next++
	c.id, c.epoch = s.next, s.hello.epoch
	s.calls[c.id] = c
	s.prolong(c)
	return c, s.hello, nil
}

// forget takes a call out of the books, whatever became of it. What the server still asks on its behalf ends, and so
// does its exchange unless it has been answered.
func (s *session) forget(c *call) {
	s.mu.Lock()
	_, pending := s.calls[c.id]
	delete(s.calls, c.id)
	c.over = true
	if s.lastAsker == c {
		s.lastAsker = nil
	}
	asked := c.asked
	s.mu.Unlock()
	for _, cancel := range asked {
		cancel()
	}
	if pending && c.abandon != nil {
		c.abandon()
	}
}

// take takes a call that is being answered out of the books; nil if nobody waits for it any more.
func (s *session) take(id int64) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[id]
	delete(s.calls, id)
	return c
}

// lost is the link's word that no answer to c will come.
func (s *session) lost(c *call, err error) {
	if s.take(c.id) != nil {
		c.done <- outcome{err: err}
	}
}

// spoil is the link's word that the answer to the call of that id cannot be used.
func (s *session) spoil(id int64, err error) {
	if c := s.take(id); c != nil {
		c.done <- outcome{err: err}
	}
}

// fail ends the session: every call that waits gets err, and so does every later one.
func (s *session) fail(err error) {
	s.mu.Lock()
	if s.failed == nil {
		s.failed = err
	}
	calls := s.calls
	s.calls = map[int64]*call{}
	s.deadlines.stop()
	s.mu.Unlock()
	s.end(err)
	for _, c := range calls {
		c.done <- outcome{err: err}
	}
}

// wait returns when no goroutine of the session is left; after fail.
func (s *session) wait() { s.background.Wait() }

// withdraw tells the server that nobody waits any more for c, which has been taken out of the books. For revision
// 2026-07-28 over HTTP the end of the exchange says so (2026-07-28, basic/utilities/cancellation); elsewhere it must be
// told.
func (s *session) withdraw(c *call, reason string) {
	if c.method == "initialize" {
		s.stop(c) // 2025-11-25, basic/utilities/cancellation: initialize must not be cancelled
		return
	}
	if c.abandon != nil && s.modern() {
		s.stop(c)
		return
	}
	params := append([]byte(`{"requestId":`), formatID(c.id)...)
	params = wire.AppendString(append(params, `,"reason":`...), reason)
	m := &wire.Message{Method: "notifications/cancelled", Params: append(params, '}')}
	s.later(func() {
		s.tell(m)
		s.stop(c)
	})
}

func (s *session) stop(c *call) {
	if c.abandon != nil {
		c.abandon()
	}
}

// sendLimit bounds what is sent in the background: it is owed to nobody.
const sendLimit = 10 * time.Second

// tell sends what nobody waits for.
func (s *session) tell(m *wire.Message) {
	ctx, cancel := context.WithTimeout(s.ended, sendLimit)
	defer cancel()
	if err := s.link.send(ctx, m, nil); err != nil {
		s.log.Debug("a message did not reach the server", zap.String("method", m.Method), zap.String("err", describe(err)))
	}
}

// later runs f in the background; f ends soon after the session does. It is not run if the session has ended.
func (s *session) later(f func()) {
	s.mu.Lock()
	ended := s.failed != nil
	if !ended {
		s.background.Add(1)
	}
	s.mu.Unlock()
	if ended {
		return
	}
	go func() {
		defer s.background.Done()
		f()
	}()
}
