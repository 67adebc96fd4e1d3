package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcp/wire"
)

// Bounds of one session.
const (
	maxStreams       = 4    // GET streams; opening a further one ends the oldest, which its client may have lost
	maxAsks          = 64   // requests to the client that wait for an answer
	maxSubscriptions = 1024 // resources
	maxCalls         = 1024 // requests in progress
)

// SessionInfo describes a connected client, for status output. Clients of 2026-07-28 have no session: they are listed for
// as long as they listen for notifications.
type SessionInfo struct {
	Client   string // how it calls itself: "claude-code/2.1"; may be empty
	Revision string
	Since    time.Time
	LastUsed time.Time
	Streams  int // open event streams
	Calls    int // requests in progress
}

// clientInfo is what a client says about itself.
type clientInfo struct {
	name         string // for people: with its version
	product      string // as it says it, for lenses
	capabilities json.RawMessage
}

// session is one client of a revision with sessions. Its methods may be called concurrently.
type session struct {
	endpoint *endpoint
	id       string
	revision string
	client   clientInfo
	mode     mode
	since    time.Time

	mu            sync.Mutex
	closed        bool
	used          time.Time
	streams       []*outbox // oldest first
	calls         map[string]context.CancelCauseFunc
	asks          map[string]chan *wire.Message
	asked         int64 // ids given to requests to the client
	told          sums  // the lists that the client knows, or knows to have changed
	level         logLevel
	levelSet      bool                       // by the client
	subscriptions map[string]watchedResource // by exposed URI
}

// openSession makes a session; if there are too many, the one that has been idle for longest ends.
func (e *endpoint) openSession(revision string, client clientInfo, wants mode) (*session, *wire.Error) {
	now := time.Now()
	s := &session{
		endpoint: e, id: rand.Text(), revision: revision, client: client, mode: wants, since: now, used: now, level: levelInfo,
	}
	s.told = s.seen().sums
	l := e.l
	l.mu.Lock()
	var evicted *session
	if len(l.sessions) >= l.options.MaxSessions {
		evicted = l.idlest()
		if evicted == nil {
			l.mu.Unlock()
			return nil, wire.Errorf(CodeBusy, "%d sessions are open and in use, which is the limit", l.options.MaxSessions)
		}
		delete(l.sessions, evicted.id)
	}
	l.sessions[s.id] = s
	l.mu.Unlock()
	if evicted != nil {
		evicted.close()
	}
	l.logger.Debug("session opened", zap.String("client", client.name), zap.String("revision", revision))
	return s, nil
}

// idlest gives the session to end when there are too many: that without a stream or call which was used least lately; nil
// if all are in use. l.mu is held.
func (l *Listener) idlest() *session {
	var found *session
	var since time.Time
	for _, s := range l.sessions {
		if idle, used := s.idle(); idle && (found == nil || used.Before(since)) {
			found, since = s, used
		}
	}
	return found
}

func (s *session) idle() (idle bool, used time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.streams) == 0 && len(s.calls) == 0, s.used
}

// session finds the session of that id on this endpoint, and notes that it was used.
func (e *endpoint) session(id string) *session {
	e.l.mu.Lock()
	s := e.l.sessions[id]
	e.l.mu.Unlock()
	if s == nil || s.endpoint != e {
		return nil
	}
	s.mu.Lock()
	s.used = time.Now()
	s.mu.Unlock()
	return s
}

// endSession takes a session out and closes it.
func (l *Listener) endSession(s *session) {
	l.mu.Lock()
	delete(l.sessions, s.id)
	l.mu.Unlock()
	s.close()
}

// close ends the session's streams and calls. It is to be called once the session is out of the listener's table.
func (s *session) close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	for _, out := range s.streams {
		out.close()
	}
	for _, cancel := range s.calls {
		cancel(errSessionEnded)
	}
	subscriptions := s.subscriptions
	s.subscriptions = nil
	s.mu.Unlock()
	for _, resource := range subscriptions {
		s.endpoint.l.unwatch(resource)
	}
	s.endpoint.l.logger.Debug("session ended", zap.String("client", s.client.name))
}

// begin registers a request so that `notifications/cancelled` finds it.
func (s *session) begin(id string, cancel context.CancelCauseFunc) *wire.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return wire.Errorf(CodeUnknownSession, "the session has ended; initialize again")
	case len(s.calls) >= maxCalls:
		return wire.Errorf(CodeBusy, "%d requests of this session are in progress, which is the limit", maxCalls)
	}
	if _, used := s.calls[id]; used {
		return wire.Errorf(CodeInvalidRequest, "a request with id %s is in progress", id)
	}
	if s.calls == nil {
		s.calls = map[string]context.CancelCauseFunc{}
	}
	s.calls[id] = cancel
	return nil
}

func (s *session) end(id string) {
	s.mu.Lock()
	delete(s.calls, id)
	s.used = time.Now()
	s.mu.Unlock()
}

// cancelCall does what `notifications/cancelled` asks for.
func (s *session) cancelCall(id string) {
	s.mu.Lock()
	cancel := s.calls[id]
	s.mu.Unlock()
	if cancel != nil {
		cancel(errCancelledByClient)
	}
}

// attach adds a GET stream and returns its queue, which begins with what the client has missed; nil if the session has
// ended.
func (s *session) attach() *outbox {
	out := newOutbox()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	if len(s.streams) == maxStreams {
		s.streams[0].close()
		s.streams = slices.Delete(s.streams, 0, 1)
	}
	s.streams = append(s.streams, out)
	s.tell(s.seen().sums)
	return out
}

// seen is the catalogue as the client sees it.
func (s *session) seen() *snapshot {
	return s.endpoint.catalogue.snapshot().seenBy(s.client.product, s.mode)
}

func (s *session) detach(out *outbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.streams, out); i >= 0 {
		s.streams = slices.Delete(s.streams, i, i+1)
	}
	s.used = time.Now()
}

// push sends a message on the newest stream and reports whether there was one with room. s.mu is held.
func (s *session) push(message []byte) bool {
	return len(s.streams) > 0 && s.streams[len(s.streams)-1].put(message)
}

// tell notifies the client of every list that differs from what it knows. Without a stream nothing is sent, and the next
// stream begins with it. s.mu is held.
func (s *session) tell(now sums) {
	for k, sum := range now {
		if s.told[k] != sum && s.push(listChanged[k]) {
			s.told[k] = sum
		}
	}
}

// saw notes that the client has got a list.
func (s *session) saw(k kind, sum digest) {
	s.mu.Lock()
	s.told[k] = sum
	s.mu.Unlock()
}

// listChanged are the notifications as session clients get them.
var listChanged = func() (messages [kinds][]byte) {
	for k, method := range changedMethods {
		messages[k] = (&wire.Message{Method: method}).Append(nil)
	}
	return messages
}()

// expire ends sessions that have been idle for too long.
func (l *Listener) expire() {
	ticker := time.NewTicker(max(l.options.SessionIdle/4, time.Second))
	defer ticker.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-ticker.C:
		}
		var expired []*session
		limit := time.Now().Add(-l.options.SessionIdle)
		l.mu.Lock()
		for id, s := range l.sessions {
			if idle, used := s.idle(); idle && used.Before(limit) {
				expired = append(expired, s)
				delete(l.sessions, id)
			}
		}
		l.mu.Unlock()
		for _, s := range expired {
			s.close()
		}
	}
}

// Sessions lists the connected clients, the longest connected first.
func (l *Listener) Sessions() []SessionInfo {
	l.mu.Lock()
	list := make([]SessionInfo, 0, len(l.sessions)+len(l.listens))
	for _, s := range l.sessions {
		list = append(list, s.info())
	}
	for li := range l.listens {
		list = append(list, li.info())
	}
	l.mu.Unlock()
	slices.SortFunc(list, func(a, b SessionInfo) int {
		if c := a.Since.Compare(b.Since); c != 0 {
			return c
		}
		return strings.Compare(a.Client, b.Client)
	})
	return list
}

func (s *session) info() SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return SessionInfo{
		Client: s.client.name, Revision: s.revision, Since: s.since, LastUsed: s.used,
		Streams: len(s.streams), Calls: len(s.calls),
	}
}
