package upstream

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
	"github.com/traposd/traposd/mcpconfig"
)

// worker keeps one configured server running, whatever happens to it. It is the mcp.Server that the catalogue holds: the
// instances behind it come and go. life, its goroutine, alone decides; everything else only tells it what is wanted.
type worker struct {
	owner *Reconciler
	id    string
	log   *zap.Logger
	wake  chan struct{}   // one slot: what is wanted is not what it was
	ctx   context.Context // ended: stop without draining
	halt  context.CancelCauseFunc
	gone  chan struct{} // closed when nothing is left

	mu         sync.Mutex
	want       mcpconfig.Server
	generation int // +1 whenever a new instance is wanted
	removed    bool
	kicked     bool // a call waits
	live       *instance
	coming     *instance // for status only
	offer      *offer    // what is offered under the server's name; kept over a crash. nil: nothing
	attempts   int       // starts so far
	status     Status
	turn       chan struct{} // closed and replaced at every change of status or live
}

func newWorker(owner *Reconciler, server mcpconfig.Server) *worker {
	w := &worker{
		owner: owner, id: server.ID(), want: server, generation: 1,
		log:  owner.options.Logger.With(zap.String("server", server.Name), zap.Stringer("scope", server.Source.Scope)),
		wake: make(chan struct{}, 1), gone: make(chan struct{}), turn: make(chan struct{}),
		status: Status{State: StateOff, Since: time.Now()},
	}
	w.ctx, w.halt = context.WithCancelCause(context.Background())
	return w
}

func (w *worker) run() {
	defer close(w.gone)
	defer w.halt(errStopped)
	l := life{w: w, pause: backoff{min: w.owner.options.Times.BackoffMin, max: w.owner.options.Times.BackoffMax}, retired: make(chan struct{}, 1)}
	for l.step() {
	}
	l.finish()
}

func (w *worker) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// change gives the worker another configuration of its server. If restart is false, it runs like the one before.
func (w *worker) change(server mcpconfig.Server, restart bool) {
	w.mu.Lock()
	w.want = server
	if restart {
		w.generation++
	}
	w.mu.Unlock()
	w.poke()
}

func (w *worker) restart() {
	w.mu.Lock()
	w.generation++
	w.mu.Unlock()
	w.poke()
}

// remove ends the worker: no more calls, the ones in flight finish.
func (w *worker) remove() {
	w.mu.Lock()
	w.removed = true
	w.offer = nil
	w.turned()
	w.mu.Unlock()
	w.poke()
}

// turned wakes those who wait in acquire; w.mu is held.
func (w *worker) turned() {
	close(w.turn)
	w.turn = make(chan struct{})
}

// Call relays one request; see mcp.Server.
func (w *worker) Call(ctx context.Context, req mcp.Request) (json.RawMessage, error) {
	i, err := w.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer i.release()
	limit := w.owner.options.Times.Call
	if i.server.Timeout > 0 {
		limit = i.server.Timeout
	}
	result, err := i.session.relay(ctx, req, limit)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, callError(i.server.Name, err)
	}
	return result, nil
}

// acquire finds the instance that takes a call. While the server is only starting, it waits for it, at most times.Wait;
// one that backs off is started at once.
func (w *worker) acquire(ctx context.Context) (*instance, error) {
	var (
		timeout <-chan time.Time
		tried   int // starts that do not count: whether they failed was known before the call
	)
	for first := true; ; first = false {
		w.mu.Lock()
		live, status, turn, name := w.live, w.status, w.turn, w.want.Name
		if live != nil && !w.removed && live.acquire() {
			w.mu.Unlock()
			return live, nil
		}
		if failed := status.State == StateBackingOff || status.State == StateNeedsLogin; first {
			if tried = w.attempts; status.State == StateStarting {
				tried--
			}
		} else if failed && w.attempts > tried {
			w.mu.Unlock()
			return nil, downError(name, status)
		}
		if w.removed || status.State == StateOff && w.want.Disabled {
			w.mu.Unlock()
			return nil, wire.Errorf(mcp.CodeServerDown, "server %q was removed or switched off", name)
		}
		if first {
			w.kicked = true
		}
		w.mu.Unlock()
		if first {
			w.poke()
			timer := time.NewTimer(w.owner.options.Times.Wait)
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-turn:
		case <-timeout:
			return nil, downError(name, status)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func downError(name string, status Status) error {
	switch {
	case status.State == StateStarting && status.Err == "":
		return wire.Errorf(mcp.CodeServerStarting, "server %q is still starting: try again in a few seconds", name)
	case status.State == StateNeedsLogin:
		return wire.Errorf(mcp.CodeNeedsAuthorization, "server %q refuses our credentials: mend the headers of its entry", name)
	}
	return wire.Errorf(mcp.CodeServerDown, "server %q is down and will be started again: %s", name, status.Err)
}

// wanted is what life is to bring about.
type wanted struct {
	server     mcpconfig.Server
	generation int
	removed    bool
	kicked     bool
}

func (w *worker) wanted() wanted {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := wanted{w.want, w.generation, w.removed, w.kicked}
	w.kicked = false
	return out
}

// enter changes the state; only life calls it. update may set status.Since where the state is entered again. The
// catalogue is told when the offer is not what it was.
func (w *worker) enter(state State, failure string, update func(*worker)) {
	w.mu.Lock()
	before := w.status
	if before.State != state {
		w.status.State, w.status.Since = state, time.Now()
	}
	w.status.Err = failure
	if update != nil {
		update(w)
	}
	repeated := before.State == state && before.Err == failure && before.Since.Equal(w.status.Since)
	w.turned()
	status := w.fullStatus()
	w.mu.Unlock()
	w.owner.publish()
	if !repeated {
		w.owner.options.OnStatus(status)
	}
}

// fullStatus completes the status; w.mu is held.
func (w *worker) fullStatus() Status {
	s := w.status
	s.ID, s.Name, s.Scope, s.Source = w.id, w.want.Name, w.want.Source.Scope, w.want.Source
	s.Transport, s.Inferred = w.want.Transport, w.want.Inferred
	if w.offer != nil {
		s.Tools = len(w.offer.lists[kindTools])
	}
	if w.live != nil {
		s.PID = w.live.child()
		s.Revision = w.live.session.agreed().revision
	} else if w.coming != nil {
		s.PID = w.coming.child()
	}
	return s
}

func (w *worker) report() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fullStatus()
}

func (w *worker) offered() (string, *offer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.want.Name, w.offer
}
