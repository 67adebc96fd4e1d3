package upstream

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"sync"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcp/wire"
)

// sseLink speaks the HTTP+SSE transport of revision 2024-11-05: everything of the server comes on one GET stream, whose
// first event names the endpoint for our POSTs. When the stream ends, so does the session.
type sseLink struct {
	session  *session
	log      *zap.Logger
	remote   *remote
	ctx      context.Context
	cancel   context.CancelFunc
	endpoint *url.URL // set before the first message is handed on and before dialSSE returns
	body     io.Closer
	work     sync.WaitGroup
	gone     chan struct{}
	cause    error // set before gone is closed

	mu     sync.Mutex
	closed bool
}

// dialSSE opens the stream and waits for the endpoint. The error wraps errNotSSE if the url answers in another way.
func dialSSE(ctx context.Context, s *session, r *remote) (*sseLink, error) {
	l := &sseLink{session: s, log: s.log, remote: r, gone: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	// The stream outlives ctx, which bounds the opening only.
	stop := context.AfterFunc(ctx, l.cancel)
	resp, err := l.open()
	if err != nil {
		stop()
		l.cancel()
		return nil, err
	}
	l.body = resp.Body
	s.link = l
	pinned := make(chan error, 1)
	l.work.Go(func() { l.read(resp.Body, pinned) })
	select {
	case err = <-pinned:
	case <-l.gone:
		err = failf(errNotSSE, "its stream ended before it named an endpoint")
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = failf(errNotSSE, "its stream named no endpoint in time")
		}
		l.close(false)
		return nil, err
	}
	return l, nil
}

func (l *sseLink) open() (*http.Response, error) {
	req, err := l.remote.request(l.ctx, http.MethodGet, l.remote.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := l.remote.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK && mediaType(resp) == "text/event-stream" {
		return resp, nil
	}
	discard(resp.Body)
	switch resp.StatusCode {
	case http.StatusOK, http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusUnsupportedMediaType:
		return nil, failf(errNotSSE, "its url does not speak the SSE transport (HTTP status %d)", resp.StatusCode)
	}
	return nil, refusal(resp)
}

// pin takes the endpoint, which must be of the url's own origin: the entry's headers go there.
func (l *sseLink) pin(text string) error {
	u, err := l.remote.url.Parse(text)
	if err != nil || u.User != nil {
		return failf(err, "the endpoint it names cannot be read")
	}
	if !sameOrigin(u, l.remote.url) {
		return failf(nil, "the endpoint it names is of another origin, which gets none of the entry's headers")
	}
	l.endpoint = u
	return nil
}

// read hands on what comes, once the endpoint is pinned; only the first endpoint counts.
func (l *sseLink) read(body io.Reader, pinned chan<- error) {
	named := false
	err := readEvents(body, func(e event) {
		switch {
		case e.name == "endpoint" && !named:
			named = true
			pinned <- l.pin(string(e.data))
		case l.endpoint != nil && (e.name == "" || e.name == "message"):
			m, err := wire.Parse(e.data)
			if err != nil {
				l.log.Debug("an event of the server was no JSON-RPC message and was skipped")
				return
			}
			l.session.receive(m, nil)
		}
	})
	l.cause = err
	if err == nil {
		l.cause = failf(io.EOF, "the server ended the stream")
	}
	close(l.gone)
}

func (l *sseLink) use(string) {}

func (l *sseLink) listen() {}

func (l *sseLink) dead() <-chan struct{} { return l.gone }

func (l *sseLink) why() error { return l.cause }

// send posts one message. Some servers answer the POST of a call only when the call is done, so it is not waited for.
func (l *sseLink) send(ctx context.Context, m *wire.Message, c *call) error {
	body := m.Append(nil)
	if c == nil {
		return l.post(ctx, body)
	}
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.work.Add(1)
	}
	l.mu.Unlock()
	if closed {
		return errStopped
	}
	ctx, c.abandon = context.WithCancel(l.ctx)
	go func() {
		defer l.work.Done()
		defer c.abandon()
		if err := l.post(ctx, body); err != nil {
			l.session.lost(c, err)
		}
	}()
	return nil
}

func (l *sseLink) post(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	req, err := l.remote.request(ctx, http.MethodPost, l.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := l.remote.client.Do(req) //nolint:bodyclose // discard closes it
	if err != nil {
		return err
	}
	defer discard(resp.Body)
	if resp.StatusCode/100 != 2 {
		return refusal(resp)
	}
	return nil
}

func (l *sseLink) close(bool) {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel()
	_ = l.body.Close()
	l.work.Wait()
	l.remote.closeIdle()
}
