package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/traposd/traposd/mcp/mirror"
	"github.com/traposd/traposd/mcp/wire"
)

// Bounds of calls that wait for their client's next round.
const (
	maxParked   = 256                   // at one time
	parkTimeout = 10 * time.Minute      // for a person to answer; then the call is cancelled
	gatherDelay = 20 * time.Millisecond // for further questions, once there is one; nothing to the person who is asked
)

// statePrefix begins every requestState of ours; what follows is a random number, the key to the waiting call. Others are
// a server's own and passed on.
const statePrefix = "traposd:1:"

// rounds is one call of a 2026-07-28 client to a server that can only ask while it works. The call goes on while the
// client makes several requests: each question ends a request with an `input_required` result, and the client's
// retry, which carries the answers, waits on (2026-07-28, basic, "Multi Round-Trip Requests").
type rounds struct {
	call   *call
	about  string // the method, and what it names: a retry must be for the same
	cancel context.CancelCauseFunc
	asking chan struct{} // one slot: there are new questions
	done   chan struct{} // closed when result and failure are there
	result [][]byte
	failed *wire.Error

	mu    sync.Mutex
	out   *exchange            // guarded by mu; nil between requests
	token json.RawMessage      // guarded by mu; progress token of the present request
	open  map[string]*question // guarded by mu; asked and not answered
	asked int                  // guarded by mu; keys given to questions
	timer *time.Timer          // guarded by mu; ends the call if no retry comes
}

// question is one request of the server to the client.
type question struct {
	method string
	params json.RawMessage
	answer chan json.RawMessage // one slot
}

// mayTakeRounds reports whether the request can be answered with questions, and its client could answer any.
func (c *call) mayTakeRounds() bool {
	if mirror.NameKey(c.message.Method) == "" {
		return false
	}
	for _, capability := range askCapabilities {
		if _, has := wire.Get(c.client.capabilities, capability); has {
			return true
		}
	}
	return false
}

// serveRound answers one request of a call that may take several.
func (e *endpoint) serveRound(ctx context.Context, w http.ResponseWriter, r *http.Request, c *call) {
	x := newExchange(w, r, e.l.options.Heartbeat)
	ro, failure := e.roundsOf(c, x)
	if failure != nil {
		x.answer(modernStatus(failure.Code), wire.ErrorResponse(c.message.ID, failure).Append(nil))
		return
	}
	select {
	case <-ro.done:
	case <-ctx.Done():
		ro.cancel(context.Cause(ctx))
		<-ro.done // a server's Call returns at once
	case <-ro.asking:
		select { // a server that asks several things at a time gets them into one round
		case <-ro.done:
		case <-time.After(gatherDelay):
			if parts := e.l.park(ro); parts != nil {
				x.answer(http.StatusOK, responseParts(c.message.ID, parts)...)
				return
			}
			<-ro.done
		}
	}
	if ro.failed != nil {
		x.answer(modernStatus(ro.failed.Code), wire.ErrorResponse(c.message.ID, ro.failed).Append(nil))
		return
	}
	x.answer(http.StatusOK, responseParts(c.message.ID, ro.result)...)
}

// roundsOf resumes the call that the request's state names, or starts one.
func (e *endpoint) roundsOf(c *call, x *exchange) (*rounds, *wire.Error) {
	_, token := stripMeta(c.message.Params)
	raw, _ := wire.Get(c.message.Params, "requestState")
	if state, _ := wire.String(raw); strings.HasPrefix(state, statePrefix) {
		ro := e.l.unpark(state, e, aboutOf(c))
		if ro == nil {
			return nil, wire.Errorf(CodeInvalidParams, "unknown requestState: it was used, has expired, or belongs to another request; call again without it")
		}
		answers, _ := wire.Get(c.message.Params, "inputResponses")
		ro.resume(x, token, answers)
		return ro, nil
	}
	ro := &rounds{
		call: c, about: aboutOf(c), out: x, token: token, open: map[string]*question{},
		asking: make(chan struct{}, 1), done: make(chan struct{}),
	}
	ctx, cancel := context.WithCancelCause(e.l.ctx)
	ro.cancel = cancel
	c.rounds, c.out, c.streams = ro, ro, x.streams
	e.l.group.Go(func() {
		defer close(ro.done)
		defer cancel(nil)
		ro.result, ro.failed = c.serve(ctx)
	})
	return ro, nil
}

func aboutOf(c *call) string {
	name, _ := wire.Get(c.message.Params, mirror.NameKey(c.message.Method))
	about := c.message.Method + " " + string(name)
	if string(name) == `"`+callTool+`"` {
		arguments, _ := wire.Get(c.message.Params, "arguments")
		called, _ := wire.Get(arguments, "name")
		about += " " + string(called)
	}
	return about
}

// resume goes on with the next request of the client.
func (ro *rounds) resume(x *exchange, token, answers json.RawMessage) {
	ro.mu.Lock()
	defer ro.mu.Unlock()
	ro.timer.Stop()
	ro.out, ro.token = x, token
	for key, answer := range wire.Members(answers) {
		if q := ro.open[key]; q != nil {
			delete(ro.open, key)
			q.answer <- answer
		}
	}
	if len(ro.open) > 0 {
		ro.ring() // what was not answered is asked again
	}
}

func (ro *rounds) ring() {
	select {
	case ro.asking <- struct{}{}:
	default:
	}
}

// ask puts a question to the client and waits for the answer, over as many requests as that takes.
func (ro *rounds) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	q := &question{method: method, params: params, answer: make(chan json.RawMessage, 1)}
	ro.mu.Lock()
	if len(ro.open) >= maxAsks {
		ro.mu.Unlock()
		return nil, wire.Errorf(CodeBusy, "%d requests to the client wait for an answer, which is the limit", maxAsks)
	}
	ro.asked++
	key := strconv.Itoa(ro.asked)
	ro.open[key] = q
	ro.ring()
	ro.mu.Unlock()
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-ctx.Done():
		ro.mu.Lock()
		delete(ro.open, key)
		ro.mu.Unlock()
		return nil, context.Cause(ctx)
	}
}

// push implements out: to the client's present request, if there is one.
func (ro *rounds) push(message []byte) bool {
	ro.mu.Lock()
	x := ro.out
	ro.mu.Unlock()
	return x != nil && x.push(message)
}

func (ro *rounds) progressToken() json.RawMessage {
	ro.mu.Lock()
	defer ro.mu.Unlock()
	return ro.token
}

// park leaves a call waiting for the next request, and gives the result that asks for it; nil if the call has to fail.
func (l *Listener) park(ro *rounds) [][]byte {
	state := statePrefix + rand.Text()
	l.mu.Lock()
	if l.closed || len(l.parked) >= maxParked {
		l.mu.Unlock()
		ro.cancel(wire.Errorf(CodeBusy, "%d calls wait for their clients, which is the limit", maxParked))
		return nil
	}
	l.parked[state] = ro
	l.mu.Unlock()

	ro.mu.Lock()
	defer ro.mu.Unlock()
	ro.out, ro.token = nil, nil
	ro.timer = time.AfterFunc(parkTimeout, func() {
		if l.unpark(state, ro.call.endpoint, ro.about) != nil {
			ro.cancel(errNoRetry)
		}
	})
	requests := json.RawMessage(`{}`)
	for key, q := range ro.open {
		request := wire.Set(nil, "method", wire.Quote(q.method))
		if q.params != nil {
			request = wire.Set(request, "params", q.params)
		}
		requests = wire.Set(requests, key, request)
	}
	result := wire.Set(json.RawMessage(`{"resultType":"input_required"}`), "inputRequests", requests)
	return [][]byte{wire.Set(result, "requestState", wire.Quote(state))}
}

// unpark takes out the call that waits under that state, if it is one about the same on the same endpoint. Each state works
// once.
func (l *Listener) unpark(state string, e *endpoint, about string) *rounds {
	l.mu.Lock()
	defer l.mu.Unlock()
	ro := l.parked[state]
	if ro == nil || ro.call.endpoint != e || ro.about != about {
		return nil
	}
	delete(l.parked, state)
	return ro
}
