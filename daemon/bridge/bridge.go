// Package bridge carries an MCP client that only starts processes to our listener: what it writes on stdin goes out as
// Streamable HTTP, what comes back goes to stdout, one JSON-RPC message a line.
//
// It starts no service. When the service restarts, the bridge finds it again, opens a new session in the client's name, and
// tells the client to look at the lists anew. A request that the lost service may have begun is answered with an error and
// never sent twice.
package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/traposd/traposd/daemon/rpc"
	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/mirror"
	"github.com/traposd/traposd/mcp/wire"
)

const (
	maxInFlight = 256 // requests under way; the reading of stdin waits above it

	// reconnectTime is how long a request waits for a service that has gone away: a restart takes two seconds.
	reconnectTime = 15 * time.Second
	reconnectStep = 250 * time.Millisecond

	// finishTime is how long requests may still take once stdin has ended. Clients kill what does not end soon after.
	finishTime = 3 * time.Second
)

// Options say what to bridge to.
type Options struct {
	// Locate gives the listener's URL. It is asked again whenever the service is lost, since it may come back elsewhere.
	Locate func(ctx context.Context) (url string, err error)
	Token  func() string // bearer token; nil or "": none
	In     io.Reader
	Out    io.Writer
}

// bridge is one run. Its methods may be called from many goroutines at once.
type bridge struct {
	options Options
	http    *http.Client
	tasks   sync.WaitGroup
	slots   chan struct{}

	out sync.Mutex // one line at a time

	mu       sync.Mutex
	url      string                             // guarded by mu; empty: not located
	session  string                             // guarded by mu; empty: none
	revision string                             // guarded by mu: of the session
	opening  *wire.Message                      // guarded by mu: the client's initialize
	calls    map[string]context.CancelCauseFunc // guarded by mu: by raw id
	marks    map[string][]mirror.Param          // guarded by mu: by tool, for clients without a session

	renewing sync.Mutex // held while a lost session is opened again
}

// Run bridges until In ends or ctx does. It fails if the service is not there at the start; the client's first request is
// then answered with the reason as well.
func Run(ctx context.Context, options Options) error {
	ctx, cancel := context.WithCancel(ctx)
	b := &bridge{
		options: options, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: maxInFlight}},
		slots: make(chan struct{}, maxInFlight), calls: map[string]context.CancelCauseFunc{},
	}
	defer b.http.CloseIdleConnections()
	defer b.tasks.Wait()
	defer cancel()
	_, missing := b.locate(ctx)
	lines := bufio.NewScanner(options.In)
	lines.Buffer(nil, rpc.MaxBytes)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		message, err := wire.Parse(bytes.Clone(line))
		if err != nil {
			b.fail(message.ID, err)
			continue
		}
		if missing != nil {
			if message.IsRequest() {
				b.fail(message.ID, wire.Errorf(mcp.CodeServerDown, "%v", missing))
				return missing
			}
			continue
		}
		b.take(ctx, message)
	}
	b.finish(ctx)
	b.end(ctx)
	if missing != nil {
		return missing
	}
	return lines.Err()
}

// take handles one message of the client. What must keep its order (initialize, notifications, answers) is done before the
// next is read; requests run side by side.
func (b *bridge) take(ctx context.Context, m *wire.Message) {
	switch {
	case m.Method == "initialize" && m.IsRequest():
		b.initialize(ctx, m)
	case m.Method == "notifications/cancelled":
		b.cancelled(ctx, m)
	case !m.IsRequest():
		b.deliver(ctx, m)
	default:
		b.slots <- struct{}{}
		callCtx, cancel := context.WithCancelCause(ctx)
		b.mu.Lock()
		b.calls[string(m.ID)] = cancel
		b.mu.Unlock()
		b.tasks.Go(func() {
			defer func() {
				b.mu.Lock()
				delete(b.calls, string(m.ID))
				b.mu.Unlock()
				cancel(nil)
				<-b.slots
			}()
			b.call(callCtx, m)
		})
	}
}

var errCancelled = errors.New("cancelled by the client")

// call sends one request and writes what comes back. A cancelled one gets no answer.
func (b *bridge) call(ctx context.Context, m *wire.Message) {
	err := b.exchange(ctx, m)
	if err == nil || ctx.Err() != nil {
		return
	}
	b.fail(m.ID, err)
}

// exchange sends a request, and once more if the service had lost our session or was not there: it cannot have begun then.
func (b *bridge) exchange(ctx context.Context, m *wire.Message) error {
	session := b.current()
	err := b.callMarked(ctx, m, session)
	if !errors.Is(err, errNotBegun) {
		return err
	}
	session, err = b.renew(ctx, session)
	if err != nil {
		return wire.Errorf(mcp.CodeServerDown, "%v", err)
	}
	if err := b.callMarked(ctx, m, session); !errors.Is(err, errNotBegun) {
		return err
	}
	return wire.Errorf(mcp.CodeServerDown, "traposd is not there; start it with `traposd run`")
}

// deliver sends what gets no answer. If the service is lost there is nobody to deliver it to.
func (b *bridge) deliver(ctx context.Context, m *wire.Message) {
	resp, err := b.post(ctx, m, b.current())
	if err == nil {
		_ = resp.Body.Close()
	}
}

// cancelled ends a request: a stateless one by closing its response stream, a session's by the notification.
func (b *bridge) cancelled(ctx context.Context, m *wire.Message) {
	if b.current().id != "" {
		b.deliver(ctx, m)
		return
	}
	id, _ := wire.Get(m.Params, "requestId")
	b.mu.Lock()
	cancel := b.calls[string(id)]
	b.mu.Unlock()
	if cancel != nil {
		cancel(errCancelled)
	}
}

// finish lets the requests under way come to their answers, when stdin has ended: a client may write them all and close.
func (b *bridge) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, finishTime)
	defer cancel()
	for range maxInFlight { // with all slots taken, no request holds one
		select {
		case b.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
}

// end closes the session, so that the service need not wait for it to expire.
func (b *bridge) end(ctx context.Context) {
	s := b.current()
	if s.id == "" {
		return
	}
	req, err := b.request(ctx, http.MethodDelete, http.NoBody, s)
	if err != nil {
		return
	}
	if resp, err := b.http.Do(req); err == nil {
		_ = resp.Body.Close()
	}
}

// fail answers a request with an error.
func (b *bridge) fail(id json.RawMessage, err error) {
	var coded *wire.Error
	if !errors.As(err, &coded) {
		coded = wire.Errorf(mcp.CodeServerDown, "%v", err)
	}
	b.write(wire.ErrorResponse(id, coded))
}

// write hands one message to the client. A client that does not read any more is gone, which its closed stdin will tell.
func (b *bridge) write(m *wire.Message) {
	line := append(m.Append(nil), '\n')
	b.out.Lock()
	defer b.out.Unlock()
	_, _ = b.options.Out.Write(line)
}

func (b *bridge) locate(ctx context.Context) (string, error) {
	url, err := b.options.Locate(ctx)
	if err != nil {
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.url = url
	return url, nil
}

// errNotBegun says that a request did not reach a service that would have acted on it.
var errNotBegun = errors.New("not begun")

func notBegun(err error) error { return fmt.Errorf("%w: %w", errNotBegun, err) }
