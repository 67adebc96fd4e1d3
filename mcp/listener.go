package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcp/wire"
)

// Defaults of Options.
const (
	DefaultMaxBodyBytes = 32 << 20
	DefaultMaxSessions  = 4096
	DefaultSessionIdle  = time.Hour
	DefaultHeartbeat    = 25 * time.Second // below the 30 s after which the strictest proxies cut a silent connection
)

// maxHandling bounds the HTTP requests that are handled at one time, streams included, beside those of the sessions.
const maxHandling = 8192

// Options configure a Listener. Only Catalogue is required.
type Options struct {
	Catalogue *Catalogue
	Logger    *zap.Logger // nil: none

	// Name and Version are how the service calls itself to clients (serverInfo).
	Name, Version string

	// Instructions stand before those of the servers.
	Instructions string

	// Declare names what is declared to clients although the catalogue has nothing of it yet. A client reads the
	// capabilities once, so what a slow server adds later would never be seen otherwise. Tools are declared always.
	Declare Declaration

	AllowedHosts, AllowedOrigins []string      // see Guard
	Token                        func() string // see Guard

	// Observe is told of each request that was passed to a server and has ended; nil: nobody is. It is called from many
	// goroutines at once, before the client has the answer, and must not block.
	Observe func(Observation)

	MaxBodyBytes int64         // of one POST; 0: DefaultMaxBodyBytes
	MaxSessions  int           // open at one time; above it the one idle for longest is ended; 0: DefaultMaxSessions
	SessionIdle  time.Duration // after which a session without a stream or call is ended; 0: DefaultSessionIdle
	Heartbeat    time.Duration // between signs of life on a silent stream; 0: DefaultHeartbeat
}

// Declaration is a set of capabilities.
type Declaration uint8

// What can be declared ahead.
const (
	DeclarePrompts Declaration = 1 << iota
	DeclareResources
	DeclareCompletions
	DeclareLogging
)

// cutDelay is how long a closing listener waits for clients that send or read too slowly, before it cuts them off.
const cutDelay = 500 * time.Millisecond

var errClosing = errors.New("the service is stopping")

// Listener serves the Model Context Protocol over HTTP: every published revision on one endpoint, for whatever path it is
// mounted on. All methods may be called concurrently.
//
// It never reads or writes what it relays beyond the names that it routes by. It starts goroutines of its own, which Close
// waits for.
type Listener struct {
	*endpoint // of Options.Catalogue

	options    Options
	logger     *zap.Logger
	guard      atomic.Pointer[Guard]
	serverInfo json.RawMessage
	bodies     *bodies

	lostNoted atomic.Int64 // when a lost session was logged, Unix seconds

	ctx    context.Context // ends when Close begins
	cancel context.CancelCauseFunc
	group  sync.WaitGroup // goroutines and requests in handling

	mu        sync.Mutex
	closed    bool                       // guarded by mu
	handling  map[*handling]struct{}     // guarded by mu
	sessions  map[string]*session        // guarded by mu
	listens   map[*listen]struct{}       // guarded by mu
	endpoints map[*Catalogue]*endpoint   // guarded by mu
	parked    map[string]*rounds         // guarded by mu; by requestState
	watched   map[watchedResource]uint32 // guarded by mu; how many sessions and streams want it
}

// endpoint serves one catalogue.
type endpoint struct {
	l         *Listener
	catalogue *Catalogue
	dropped   chan struct{} // closed by Drop; the endpoint takes no more requests
}

// handling is one HTTP request in progress.
type handling struct {
	endpoint *endpoint
	cancel   context.CancelCauseFunc
	conn     *http.ResponseController
}

// NewListener starts a listener. It must be closed.
func NewListener(options Options) *Listener {
	if options.Catalogue == nil {
		options.Catalogue = NewCatalogue()
	}
	if options.Logger == nil {
		options.Logger = zap.NewNop()
	}
	if options.Name == "" {
		options.Name = "traposd"
	}
	orDefault(&options.MaxBodyBytes, DefaultMaxBodyBytes)
	orDefault(&options.MaxSessions, DefaultMaxSessions)
	orDefault(&options.SessionIdle, DefaultSessionIdle)
	orDefault(&options.Heartbeat, DefaultHeartbeat)
	l := &Listener{
		options:    options,
		logger:     options.Logger,
		serverInfo: mustJSON(map[string]string{"name": options.Name, "version": options.Version}),
		bodies:     newBodies(options.MaxBodyBytes),
		handling:   map[*handling]struct{}{},
		sessions:   map[string]*session{},
		listens:    map[*listen]struct{}{},
		endpoints:  map[*Catalogue]*endpoint{},
		parked:     map[string]*rounds{},
		watched:    map[watchedResource]uint32{},
	}
	l.Allow(options.AllowedHosts, options.AllowedOrigins)
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	l.endpoint = l.endpointOf(options.Catalogue)
	l.group.Go(l.expire)
	return l
}

func orDefault[T int | int64 | time.Duration](value *T, otherwise T) {
	if *value <= 0 {
		*value = otherwise
	}
}

// View returns a handler that serves another catalogue with the same guard, limits and life: one workspace, one server.
func (l *Listener) View(catalogue *Catalogue) http.Handler { return l.endpointOf(catalogue) }

func (l *Listener) endpointOf(catalogue *Catalogue) *endpoint {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.endpoints[catalogue]
	if e == nil {
		e = &endpoint{l: l, catalogue: catalogue, dropped: make(chan struct{})}
		l.endpoints[catalogue] = e
		if !l.closed {
			changes, stop := catalogue.watch() // before the first client can see a list
			l.group.Go(func() {
				defer stop()
				e.announce(changes)
			})
		}
	}
	return e
}

// Drop ends what View began for a catalogue: its sessions and streams end, and its handler refuses. It does not wait for
// the calls in progress, which are cancelled.
func (l *Listener) Drop(catalogue *Catalogue) {
	l.mu.Lock()
	e := l.endpoints[catalogue]
	if e == nil || e == l.endpoint {
		l.mu.Unlock()
		return
	}
	delete(l.endpoints, catalogue)
	close(e.dropped)
	var sessions []*session
	for id, s := range l.sessions {
		if s.endpoint == e {
			sessions = append(sessions, s)
			delete(l.sessions, id)
		}
	}
	for h := range l.handling {
		if h.endpoint == e {
			h.cancel(errClosing)
		}
	}
	l.mu.Unlock()
	for _, s := range sessions {
		s.close()
	}
}

// Allow replaces AllowedHosts and AllowedOrigins, from the next request on.
func (l *Listener) Allow(hosts, origins []string) {
	l.guard.Store(&Guard{AllowedHosts: slices.Clone(hosts), AllowedOrigins: slices.Clone(origins), Token: l.options.Token})
}

// Guard wraps another route of the same server in the same guard (Host, Origin, Sec-Fetch-Site, token).
func (l *Listener) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.guard.Load().admit(w, r) {
			next.ServeHTTP(w, r)
		}
	})
}

// GuardPublic is Guard without the token, for routes that tell nothing: a page before its data, a sign of life.
func (l *Listener) GuardPublic(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		guard := *l.guard.Load()
		guard.Token = nil
		if guard.admit(w, r) {
			next.ServeHTTP(w, r)
		}
	})
}

// Close ends all streams, cancels all calls, and waits until every handler and goroutine has ended, or ctx does. A client
// that does not send the rest of its request, or does not read its answer, is cut off.
func (l *Listener) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	for h := range l.handling {
		h.cancel(errClosing)
	}
	sessions := l.sessions
	l.sessions = map[string]*session{}
	l.mu.Unlock()
	for _, s := range sessions {
		s.close()
	}
	l.cancel(errClosing)

	ended := make(chan struct{})
	go func() {
		l.group.Wait()
		close(ended)
	}()
	late := time.NewTicker(cutDelay) // more than once: a handler may have set a deadline of its own just after
	defer late.Stop()
	for {
		select {
		case <-ended:
			return nil
		case <-late.C:
			l.cut()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// cut has every read from and write to a client fail.
func (l *Listener) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for h := range l.handling {
		_ = h.conn.SetReadDeadline(now) // not every connection has deadlines
		_ = h.conn.SetWriteDeadline(now)
	}
}

// enter registers a request. Its answer is an error if the request cannot be taken.
func (l *Listener) enter(h *handling) *wire.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-h.endpoint.dropped:
		return wire.Errorf(CodeServerDown, "this view is not served any more")
	default:
	}
	switch {
	case l.closed:
		return wire.Errorf(CodeServerDown, "the service is stopping")
	case len(l.handling) >= maxHandling:
		return wire.Errorf(CodeBusy, "%d requests and streams are open, which is the limit", maxHandling)
	}
	l.handling[h] = struct{}{}
	l.group.Add(1)
	return nil
}

func (l *Listener) leave(h *handling) {
	l.mu.Lock()
	delete(l.handling, h)
	l.mu.Unlock()
	l.group.Done()
	h.cancel(nil)
}

// ServeHTTP guards and answers one request to the endpoint.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l := e.l
	if !l.guard.Load().admit(w, r) {
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	h := &handling{endpoint: e, cancel: cancel, conn: http.NewResponseController(w)}
	if err := l.enter(h); err != nil {
		cancel(nil)
		w.Header().Set("Retry-After", "1")
		writeError(w, http.StatusServiceUnavailable, nil, err)
		return
	}
	defer l.leave(h)
	switch r.Method {
	case http.MethodPost:
		e.servePOST(ctx, w, r)
	case http.MethodGet:
		e.serveGET(ctx, w, r)
	case http.MethodDelete:
		e.serveDELETE(w, r)
	default:
		notAllowed(w)
	}
}

func notAllowed(w http.ResponseWriter) {
	w.Header().Set("Allow", "GET, POST, DELETE")
	writeError(w, http.StatusMethodNotAllowed, nil, wire.Errorf(CodeInvalidRequest,
		"send JSON-RPC with POST; GET and DELETE need the %s of a session", headerSession))
}
