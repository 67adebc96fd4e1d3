package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
	"github.com/traposd/traposd/mcpconfig"
)

// instance is one run of one server: from its start, over its handshake and its calls, until nothing is left of it.
type instance struct {
	server  mcpconfig.Server
	log     *zap.Logger
	options *Options
	host    *host
	session *session

	ctx    context.Context
	cancel context.CancelCauseFunc
	ready  chan struct{} // closed when calls can come
	news   chan struct{} // one slot: what it offers, or its trouble, is not what it was
	done   chan struct{} // closed when nothing is left of it
	err    error         // after done: why it ended

	mu      sync.Mutex
	offer   *offer
	trouble string // why it is degraded; empty: it is not
	pid     int
	active  int // calls in flight
	retired bool
	idle    chan struct{} // closed when retired and no call is in flight
}

// startInstance starts one run of a server, which ends with ctx. The caller waits for done.
func startInstance(ctx context.Context, server mcpconfig.Server, options *Options, h *host, log *zap.Logger) *instance {
	i := &instance{
		server: server, log: log, options: options, host: h,
		ready: make(chan struct{}), news: make(chan struct{}, 1), done: make(chan struct{}), idle: make(chan struct{}),
	}
	i.ctx, i.cancel = context.WithCancelCause(ctx)
	times := options.Times
	if server.StartupTimeout > 0 {
		times.Start = server.StartupTimeout
	}
	i.session = newSession(server.Name, log, times, identity{options.ClientName, options.ClientVersion})
	id := server.ID()
	if options.LogLevel != nil {
		i.session.logs = options.LogLevel
	}
	i.session.notified = func(method string, params json.RawMessage) { options.OnNotification(id, method, params) }
	go func() {
		defer close(i.done)
		i.err = i.run()
	}()
	return i
}

func (i *instance) run() error {
	err := i.start()
	if err == nil {
		err = i.serve()
	}
	i.cancel(err)
	i.session.fail(err)
	if link := i.session.link; link != nil {
		polite := errors.Is(err, errStopped) && isClosed(i.ready)
		link.close(polite)
	}
	i.session.wait()
	return err
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// start brings the server up to its first list of tools.
func (i *instance) start() error {
	limit := i.session.times.Start
	ctx, cancel := context.WithTimeout(i.ctx, limit)
	defer cancel()
	err := i.connect(ctx)
	connected := err == nil
	if connected {
		err = i.session.handshake(ctx, 1)
	}
	var o *offer
	if err == nil {
		o, err = i.session.fetchAll(ctx)
	}
	switch {
	case err == nil:
	case i.ctx.Err() != nil:
		return context.Cause(i.ctx)
	case connected && isClosed(i.session.link.dead()):
		return i.session.link.why()
	case ctx.Err() != nil:
		return failf(err, "did not come up within %v%s; \"startupTimeout\" in its entry gives it longer", limit, i.lastWords())
	default:
		return i.explain(err)
	}
	i.mu.Lock()
	i.offer = o
	i.mu.Unlock()
	close(i.ready)
	return nil
}

// lastWords is the end of a child's stderr, to be put behind a message.
func (i *instance) lastWords() string {
	if l, ok := i.session.link.(*stdioLink); ok {
		if text := l.tail.text(); text != "" {
			return ": " + text
		}
	}
	return ""
}

// explain adds to the failure of a remote server that its transport was only inferred.
func (i *instance) explain(err error) error {
	if i.server.Inferred && i.server.Transport == mcpconfig.TransportSSE && !errors.Is(err, errUnauthorized) {
		return failf(err, "%s; its entry has no \"type\" and was taken to be \"sse\"", describe(err))
	}
	return err
}

// connect makes the link.
func (i *instance) connect(ctx context.Context) error {
	if i.server.Transport == mcpconfig.TransportStdio {
		return i.spawn()
	}
	r, err := newRemote(i.server, i.options.dial)
	if err != nil {
		return err
	}
	if i.server.Transport == mcpconfig.TransportSSE {
		return i.connectSSE(ctx, r)
	}
	i.guard(dialHTTP(i.session, r))
	return nil
}

// inferLimit is how long a url without a type may take to show that it speaks SSE.
const inferLimit = 5 * time.Second

// connectSSE opens the stream. A url whose entry has no type may turn out to speak Streamable HTTP, which is used then.
func (i *instance) connectSSE(ctx context.Context, r *remote) error {
	dial := ctx
	if i.server.Inferred {
		var cancel context.CancelFunc
		dial, cancel = context.WithTimeout(ctx, inferLimit)
		defer cancel()
	}
	l, err := dialSSE(dial, i.session, r)
	switch {
	case err == nil:
		i.guard(l)
		return nil
	case i.server.Inferred && errors.Is(err, errNotSSE):
		i.guard(dialHTTP(i.session, r))
		i.host.warnInferred(i.server, i.log)
		return nil
	}
	r.closeIdle()
	return err
}

func (i *instance) spawn() error {
	c, err := i.host.command(i.server)
	if err != nil {
		var lookup *lookupError
		if errors.As(err, &lookup) && lookup.folders != nil {
			i.log.Debug("the command was not found", zap.Strings("folders", lookup.folders))
		}
		return err
	}
	l, err := dialStdio(i.session, c, newMasker(i.server), i.host.closing)
	if err != nil {
		return unstartable(err)
	}
	i.mu.Lock()
	i.pid = l.process.pid()
	i.mu.Unlock()
	i.host.born(l.process)
	i.guard(l)
	return nil
}

// guard fails the session when its link dies.
func (i *instance) guard(l link) {
	i.session.later(func() {
		select {
		case <-l.dead():
			i.session.fail(l.why())
		case <-i.session.ended.Done():
		}
	})
}

// serve keeps up with what the server offers until it dies or is to stop; it says why.
func (i *instance) serve() error {
	var ping <-chan time.Time
	if i.server.Transport != mcpconfig.TransportStdio { // a child's death is noticed without asking, and a busy one may be slow to answer
		ticker := time.NewTicker(i.options.Times.Ping)
		defer ticker.Stop()
		ping = ticker.C
	}
	s := i.session
	for {
		select {
		case <-i.ctx.Done():
			return context.Cause(i.ctx)
		case <-s.ended.Done():
			return context.Cause(s.ended)
		case <-s.changed[kindTools]:
			i.refresh(kindTools)
		case <-s.changed[kindPrompts]:
			i.refresh(kindPrompts)
		case <-s.changed[kindResources]:
			i.refresh(kindResources)
		case <-s.changed[kindTemplates]:
			i.refresh(kindTemplates)
		case <-ping:
			if err := i.probe(); err != nil {
				return err
			}
		}
	}
}

// refresh reads one list again.
func (i *instance) refresh(k kind) {
	next, err := i.session.refetch(i.ctx, i.offered(), k)
	trouble := ""
	if err != nil {
		trouble = listings[k].method + " failed: " + describe(err)
	}
	i.mu.Lock()
	changed := trouble != i.trouble || !next.equal(i.offer)
	i.offer, i.trouble = next, trouble
	i.mu.Unlock()
	if changed && i.ctx.Err() == nil {
		select {
		case i.news <- struct{}{}:
		default:
		}
	}
}

// probe asks a remote server for a sign of life. Whatever it answers is one. While calls are in flight its silence is
// not taken for death: a server that does one thing at a time does not answer then.
func (i *instance) probe() error {
	method := "ping"
	if i.session.modern() {
		method = "server/discover"
	}
	_, err := i.session.call(i.ctx, mcp.Request{Method: method}, i.options.Times.Ping)
	var rpc *wire.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &rpc):
		return err
	case rpc.Code != mcp.CodeTimeout || i.busy():
		return nil
	}
	return failf(err, "does not answer any more")
}

func (i *instance) busy() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.active > 0
}

// child is the number of its process; 0: none.
func (i *instance) child() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.pid
}

func (i *instance) offered() *offer {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.offer
}

// acquire counts a call in; false if no more are taken.
func (i *instance) acquire() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.retired || i.dying() {
		return false
	}
	i.active++
	return true
}

// dying reports whether the instance takes no more calls, though it may not be gone yet.
func (i *instance) dying() bool { return i.session.ended.Err() != nil }

func (i *instance) release() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.active--; i.active == 0 && i.retired {
		close(i.idle)
	}
}

// retire takes no more calls, lets those in flight finish within times.Drain, and stops the server.
func (i *instance) retire() {
	i.mu.Lock()
	if !i.retired {
		i.retired = true
		if i.active == 0 {
			close(i.idle)
		}
	}
	i.mu.Unlock()
	timer := time.NewTimer(i.options.Times.Drain)
	defer timer.Stop()
	select {
	case <-i.idle:
	case <-timer.C:
	case <-i.done:
	case <-i.ctx.Done():
	}
	i.stop()
}

// stop ends the server at once; calls in flight fail.
func (i *instance) stop() {
	i.cancel(errStopped)
	<-i.done
}
