package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/mirror"
	"github.com/traposd/traposd/mcp/wire"
)

// Names of the transport's headers (2025-11-25, basic/transports).
const (
	headerSession  = "Mcp-Session-Id"
	headerRevision = "Mcp-Protocol-Version"
	acceptBoth     = "application/json, text/event-stream"
)

// Limits of the transport.
const (
	deleteLimit = 2 * time.Second // for the server to hear that we end the session
	trailLimit  = time.Second     // for a stream to end after its answer, so that its connection can be used again
	maxResumes  = 5               // attempts to get the rest of a broken stream without anything new
)

// httpLink speaks Streamable HTTP: a POST per message, whose answer is JSON or an event stream, and for session
// revisions a GET stream for what the server says of its own accord.
type httpLink struct {
	session *session
	log     *zap.Logger
	remote  *remote
	ctx     context.Context // of everything but the sending of what is not a call
	cancel  context.CancelFunc
	work    sync.WaitGroup
	gone    chan struct{}
	once    sync.Once
	cause   error

	mu       sync.Mutex
	id       string             // of the session; empty: none
	sessions bool               // the server gives sessions: a call without one slipped out during a new handshake
	revision string             // agreed on
	stream   context.CancelFunc // ends the GET stream; nil: none
	closed   bool
}

func dialHTTP(s *session, r *remote) *httpLink {
	l := &httpLink{session: s, log: s.log, remote: r, gone: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	s.link = l
	return l
}

func (l *httpLink) use(revision string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.revision = revision
	if revision == "" || revision == revisionStateless {
		l.id = ""
	}
}

func (l *httpLink) sessionless() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id == ""
}

func (l *httpLink) dead() <-chan struct{} { return l.gone }

func (l *httpLink) why() error { return l.cause }

func (l *httpLink) end(err error) {
	l.once.Do(func() {
		l.cause = err
		close(l.gone)
	})
}

// begin counts one piece of background work; false after close.
func (l *httpLink) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.work.Add(1)
	return true
}

// send posts one message. The answer to a call comes through the session.
func (l *httpLink) send(ctx context.Context, m *wire.Message, c *call) error {
	body := m.Append(make([]byte, 0, len(m.Params)+len(m.Result)+128))
	if !l.begin() {
		return errStopped
	}
	if c == nil {
		defer l.work.Done()
		return l.deliver(ctx, m, body)
	}
	ctx, c.abandon = context.WithCancel(l.ctx)
	go func() {
		defer l.work.Done()
		defer c.abandon()
		if err := l.exchange(ctx, m, body, c); err != nil {
			l.session.lost(c, err)
		}
	}()
	return nil
}

// deliver posts a notification or an answer of ours; the server takes it or does not.
func (l *httpLink) deliver(ctx context.Context, m *wire.Message, body []byte) error {
	resp, err := l.post(ctx, m, body) //nolint:bodyclose // discard closes it
	if err != nil {
		return err
	}
	defer discard(resp.Body)
	if resp.StatusCode/100 != 2 {
		return refusal(resp)
	}
	return nil
}

func (l *httpLink) post(ctx context.Context, m *wire.Message, body []byte) (*http.Response, error) {
	req, err := l.remote.request(ctx, http.MethodPost, l.remote.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", acceptBoth)
	l.mark(req.Header)
	if req.Header.Get(headerRevision) == revisionStateless && m.Method != "" {
		mirror.Set(req.Header, m, l.session.headersOf)
	}
	return l.remote.client.Do(req)
}

// mark sets the headers that tie a request to the session.
func (l *httpLink) mark(header http.Header) {
	l.mu.Lock()
	id, revision := l.id, l.revision
	l.mu.Unlock()
	if id != "" {
		header.Set(headerSession, id)
	}
	if revision != "" {
		header.Set(headerRevision, revision)
	}
}

// exchange posts a call and hands on whatever comes back. The error means that no answer will come.
func (l *httpLink) exchange(ctx context.Context, m *wire.Message, body []byte, c *call) error {
	resp, err := l.post(ctx, m, body) //nolint:bodyclose // each way below closes it
	if err != nil {
		return err
	}
	if m.Method == "initialize" && resp.StatusCode == http.StatusOK {
		l.mu.Lock()
		l.id = resp.Header.Get(headerSession)
		l.sessions = l.sessions || l.id != ""
		l.mu.Unlock()
	}
	switch kind := mediaType(resp); {
	case resp.StatusCode == http.StatusOK && kind == "text/event-stream":
		return l.follow(ctx, resp, c)
	case resp.StatusCode == http.StatusAccepted:
		discard(resp.Body)
		return nil // the answer may come on the GET stream, as some servers do it; the time limit watches
	case resp.StatusCode == http.StatusOK:
		defer discard(resp.Body)
		return l.answer(resp, c)
	default:
		defer discard(resp.Body)
		return l.refused(resp, kind, c)
	}
}

// answer hands on a JSON body: one message, or several in revision 2025-03-26.
func (l *httpLink) answer(resp *http.Response, c *call) error {
	data, err := readBody(resp.Body, resp.ContentLength)
	if err != nil {
		return l.tooLarge(err)
	}
	if !l.hand(data, c) {
		return failf(nil, "its answer is not valid JSON-RPC")
	}
	return failf(nil, "its answer belongs to another request") // unless it was the right one: then nobody waits any more
}

func (l *httpLink) tooLarge(err error) error {
	if errors.Is(err, errEventTooLong) {
		return wire.Errorf(mcp.CodeTooLarge, "the answer of server %q is above the limit of %d bytes", l.session.name, maxMessageBytes)
	}
	return err
}

// hand hands on one message, or a batch; false if it is neither.
func (l *httpLink) hand(data []byte, c *call) bool {
	if wire.Kind(data) == '[' {
		if _, err := wire.Parse(data); codeOf(err) == wire.CodeParseError {
			return false
		}
		for element := range wire.Elements(data) {
			if wire.Kind(element) == '[' || !l.hand(element, c) {
				return false
			}
		}
		return true
	}
	m, err := wire.Parse(data)
	if err != nil {
		return false
	}
	l.session.receive(m, c)
	return true
}

// refused handles a status that is not 200. A JSON-RPC error that carries our id is the server's answer whatever the
// status (2026-07-28 sends 400 and 404 so); a 404 or 400 on a session otherwise means that it is gone.
func (l *httpLink) refused(resp *http.Response, kind string, c *call) error {
	var failed *wire.Error // what the body says, without our id
	if kind == "application/json" {
		if data, err := readBody(resp.Body, resp.ContentLength); err == nil {
			m, err := wire.Parse(data)
			if err == nil && m.Error != nil {
				if id, ok := parseID(m.ID); ok && id == c.id {
					l.session.receive(m, c)
					return nil
				}
				failed = m.Error
			}
		}
	}
	l.mu.Lock()
	sessions := l.sessions && c.method != "initialize" && c.method != "server/discover"
	l.mu.Unlock()
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusBadRequest:
		if sessions {
			return errSessionGone
		}
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return refusal(resp)
	}
	if failed != nil {
		return failed
	}
	return refusal(resp)
}

// follow reads the event stream that answers a call. If it breaks off before the answer, the rest is asked for by its
// last event id, where the server gave one (2025-11-25, basic/transports, "Resumability and redelivery").
func (l *httpLink) follow(ctx context.Context, resp *http.Response, c *call) error {
	defer func() { _ = resp.Body.Close() }()
	f := follower{link: l, call: c}
	err := f.read(resp.Body)
	for range maxResumes {
		if f.answered() || ctx.Err() != nil || f.lastID == "" {
			break
		}
		if !sleep(ctx, f.pause()) {
			break
		}
		before := f.lastID
		if err = f.resume(ctx); errors.Is(err, errNoStream) {
			break
		}
		if f.lastID != before {
			continue
		}
	}
	if err != nil {
		return l.tooLarge(err)
	}
	return failf(io.ErrUnexpectedEOF, "it ended the answer's stream before the answer")
}

// follower reads one stream, over as many connections as it takes.
type follower struct {
	link   *httpLink
	call   *call // nil: the GET stream
	lastID string
	retry  time.Duration
	events int
}

func (f *follower) pause() time.Duration {
	if f.retry > 0 {
		return min(f.retry, streamPauseMax)
	}
	return time.Second
}

func (f *follower) answered() bool {
	if f.call == nil {
		return false
	}
	s := f.link.session
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[f.call.id] == nil
}

func (f *follower) read(body io.Reader) error {
	var trail *time.Timer
	err := readEvents(body, func(e event) {
		f.events++
		if e.id != "" {
			f.lastID = e.id
		}
		if e.retry > 0 {
			f.retry = e.retry
		}
		if len(e.data) == 0 || e.name != "" && e.name != "message" {
			return
		}
		if !f.link.hand(e.data, f.call) {
			f.link.log.Debug("an event of the server was no JSON-RPC message and was skipped")
		}
		if trail == nil && f.answered() {
			trail = time.AfterFunc(trailLimit, f.call.abandon)
		}
	})
	if trail != nil {
		trail.Stop()
	}
	return err
}

// errNoStream means that the server has no GET stream for us.
var errNoStream = errors.New("the server refuses the GET stream")

// resume opens a GET stream, after the last event that was seen, and reads it to its end.
func (f *follower) resume(ctx context.Context) error {
	req, err := f.link.remote.request(ctx, http.MethodGet, f.link.remote.url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	f.link.mark(req.Header)
	if f.lastID != "" {
		req.Header.Set("Last-Event-ID", f.lastID)
	}
	resp, err := f.link.remote.streams.Do(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || mediaType(resp) != "text/event-stream" {
		discard(resp.Body)
		if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests {
			return refusal(resp)
		}
		return errNoStream
	}
	defer func() { _ = resp.Body.Close() }()
	return f.read(resp.Body)
}

// listen keeps the GET stream open, if the session has one. A server that refuses it is not asked again.
func (l *httpLink) listen() {
	ctx, cancel := context.WithCancel(l.ctx)
	l.mu.Lock()
	previous := l.stream
	l.stream = cancel
	stateless := l.revision == revisionStateless
	l.mu.Unlock()
	if previous != nil {
		previous()
	}
	if stateless || !l.begin() {
		cancel()
		return
	}
	go func() {
		defer l.work.Done()
		defer cancel()
		l.keepListening(ctx)
	}()
}

func (l *httpLink) keepListening(ctx context.Context) {
	f := follower{link: l}
	pause := backoff{min: streamPauseMin, max: streamPauseMax}
	for {
		begun := time.Now()
		err := f.resume(ctx)
		if ctx.Err() != nil || errors.Is(err, errNoStream) {
			return
		}
		if time.Since(begun) > streamPauseMax {
			pause.reset()
		}
		if !sleep(ctx, max(pause.next(), min(f.retry, streamPauseMax))) {
			return
		}
		l.session.touch(kindTools, kindPrompts, kindResources, kindTemplates) // what was missed in between
	}
}

// close ends all exchanges and, if there is one, tells the server that the session is over.
func (l *httpLink) close(bool) {
	l.mu.Lock()
	l.closed = true
	id := l.id
	l.mu.Unlock()
	l.cancel()
	l.work.Wait()
	if id != "" {
		ctx, cancel := context.WithTimeout(context.Background(), deleteLimit)
		defer cancel()
		if req, err := l.remote.request(ctx, http.MethodDelete, l.remote.url, nil); err == nil {
			l.mark(req.Header)
			if resp, err := l.remote.client.Do(req); err == nil { //nolint:bodyclose // discard closes it
				discard(resp.Body)
			}
		}
	}
	l.end(errStopped)
	l.remote.closeIdle()
}
