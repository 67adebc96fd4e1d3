package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
)

func formatID(id int64) json.RawMessage { return strconv.AppendInt(nil, id, 10) }

// parseID reads an id of ours; some servers give numbers back as strings, or as `7.0` where their language has no integers.
func parseID(raw json.RawMessage) (int64, bool) {
	text := string(raw)
	if s, ok := wire.String(raw); ok {
		text = s
	}
	if id, err := strconv.ParseInt(text, 10, 64); err == nil {
		return id, true
	}
	f, err := strconv.ParseFloat(text, 64)
	id := int64(f)
	return id, err == nil && f == float64(id) && id >= 0 && id < 1<<53
}

// receive handles one message of the server. of is the call on whose own stream it came, nil if the stream is shared. It
// does not block: the link's reader calls it.
func (s *session) receive(m *wire.Message, of *call) {
	switch {
	case m.IsResponse():
		s.answered(m, of)
	case m.IsRequest():
		s.asked(m, of)
	default:
		s.noted(m, of)
	}
}

func (s *session) answered(m *wire.Message, of *call) {
	id, ok := parseID(m.ID)
	if !ok && of != nil && m.ID == nil && m.Error != nil {
		id, ok = of.id, true // an error without an id on the call's own stream can only be its own
	}
	if !ok {
		s.log.Debug("an answer without a usable id was dropped")
		return
	}
	c := s.take(id)
	if c == nil {
		return // too late, or never asked
	}
	if m.Error != nil {
		c.done <- outcome{err: m.Error}
		return
	}
	c.done <- outcome{result: m.Result}
}

// noted handles a notification.
func (s *session) noted(m *wire.Message, of *call) {
	switch m.Method {
	case "notifications/progress":
		s.progressed(m.Params)
	case "notifications/cancelled":
		if id, ok := wire.Get(m.Params, "requestId"); ok {
			s.mu.Lock()
			cancel := s.inbound[string(id)]
			s.mu.Unlock()
			if cancel != nil {
				cancel()
			}
		}
	case "notifications/tools/list_changed":
		s.touch(kindTools)
	case "notifications/prompts/list_changed":
		s.touch(kindPrompts)
	case "notifications/resources/list_changed":
		s.touch(kindResources, kindTemplates)
	case "notifications/subscriptions/acknowledged":
	case "notifications/message":
		if c := s.owner(of); c != nil && c.client != nil {
			c.client.Notify(m.Method, m.Params)
			return
		}
		s.notified(m.Method, withoutSubscription(m.Params))
	default:
		if of != nil && of.client != nil && m.Method != "notifications/resources/updated" {
			of.client.Notify(m.Method, m.Params)
			return
		}
		s.notified(m.Method, withoutSubscription(m.Params))
	}
}

func (s *session) touch(which ...kind) {
	for _, k := range which {
		select {
		case s.changed[k] <- struct{}{}:
		default:
		}
	}
}

func (s *session) progressed(params json.RawMessage) {
	token, ok := wire.Get(params, "progressToken")
	if !ok {
		return
	}
	id, ok := parseID(token)
	if !ok {
		return
	}
	s.mu.Lock()
	c := s.calls[id]
	asked := c != nil && c.progress != nil // else it is a token that nobody gave
	if asked {
		s.prolong(c)
	}
	s.mu.Unlock()
	if asked {
		c.deliver(params)
	}
}

// owner tells which call a message of the server belongs to: that on whose stream it came, or the only one in flight.
// The protocol does not say more; with several in flight on one stream, nobody can know.
func (s *session) owner(of *call) *call {
	if of != nil {
		return of
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.only(func(*call) bool { return true })
}

// burst is how long after a question the next one may still be of the same handler, which asks several things at a time:
// the Go SDK's servers send such questions within a millisecond.
const burst = 20 * time.Millisecond

// questioner tells which call a question of the server belongs to, and counts the question; nil if nobody can know, since
// a question must never be shown to somebody else's client.
//
// On a shared stream it is that of the only call in flight that may be asking. A call whose client is being asked
// already stands still, as a rule, until it has the answer, except just after a question, when more of the same call may
// follow. Otherwise one person who takes a minute to answer would fail everybody else's questions.
func (s *session) questioner(of *call) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if of == nil {
		of = s.only(func(*call) bool { return true })
	}
	if of == nil {
		of = s.only(func(c *call) bool { return c.asking == 0 || c == s.lastAsker && now.Sub(s.lastAsked) < burst })
	}
	if of != nil {
		of.asking++
		s.lastAsker, s.lastAsked = of, now
	}
	return of
}

// settled takes back a question that questioner counted.
func (s *session) settled(c *call) {
	if c == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.asking--
}

// only is the only call of an asker that fits; nil if there are none or several. s.mu is held.
func (s *session) only(fits func(*call) bool) *call {
	var only *call
	for _, c := range s.calls {
		switch {
		case c.client == nil: // our own: lists, pings, subscriptions
		case !fits(c):
		case only != nil:
			return nil
		default:
			only = c
		}
	}
	return only
}

// asked answers a request of the server in the background.
func (s *session) asked(m *wire.Message, of *call) {
	select {
	case s.slots <- struct{}{}:
	default:
		s.log.Warn("the server asks too much at once; a request of it was dropped", zap.Int("limit", maxServerRequests))
		return
	}
	var owner *call
	if isQuestion(m.Method) {
		owner = s.questioner(of) // now: by the time it is answered, other calls may be in flight
	}
	s.later(func() {
		defer func() { <-s.slots }()
		answer := s.answer(m, owner)
		s.settled(owner) // before the server can ask the next thing
		s.tell(answer)
	})
}

// isQuestion reports whether a request of the server is for the client behind a call.
func isQuestion(method string) bool {
	return method == "roots/list" || method == "sampling/createMessage" || method == "elicitation/create"
}

// answer finds the answer to a request of the server. Only the client behind a call can be asked.
func (s *session) answer(m *wire.Message, owner *call) *wire.Message {
	switch {
	case m.Method == "ping":
		return wire.Response(m.ID, json.RawMessage(`{}`))
	case !isQuestion(m.Method):
		return wire.ErrorResponse(m.ID, wire.Errorf(wire.CodeMethodNotFound, "method %q is not known here", m.Method))
	}
	if owner == nil || owner.client == nil {
		return wire.ErrorResponse(m.ID, wire.Errorf(wire.CodeInternalError, "%s cannot be passed on: it belongs to no single call in flight", m.Method))
	}
	ctx, cancel := context.WithCancel(s.ended)
	defer cancel()
	s.mu.Lock()
	over := owner.over
	if !over {
		owner.asked = append(owner.asked, cancel)
		s.inbound[string(m.ID)] = cancel
	}
	s.mu.Unlock()
	if over {
		return wire.ErrorResponse(m.ID, wire.Errorf(mcp.CodeCancelled, "the call that this belonged to is over"))
	}
	defer func() {
		s.mu.Lock()
		delete(s.inbound, string(m.ID))
		s.mu.Unlock()
	}()
	result, err := owner.client.Request(ctx, m.Method, m.Params)
	if err == nil {
		return wire.Response(m.ID, result)
	}
	var own *wire.Error
	if errors.As(err, &own) {
		return wire.ErrorResponse(m.ID, own)
	}
	return wire.ErrorResponse(m.ID, wire.Errorf(wire.CodeInternalError, "the client did not answer %s", m.Method))
}

// metaSubscription is the member of _meta that ties a notification to its subscriptions/listen (2026-07-28).
const metaSubscription = "io.modelcontextprotocol/subscriptionId"

func withoutSubscription(params json.RawMessage) json.RawMessage {
	meta, ok := wire.Get(params, "_meta")
	if !ok {
		return params
	}
	if _, ok := wire.Get(meta, metaSubscription); !ok {
		return params
	}
	if meta = wire.Delete(meta, metaSubscription); wire.Kind(meta) == '{' && len(meta) == 2 {
		return wire.Delete(params, "_meta")
	}
	return wire.Set(params, "_meta", meta)
}
