package mcp

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/traposd/traposd/mcp/wire"
)

// askCapabilities are the client's capabilities that allow a server to ask it something.
var askCapabilities = map[string]string{
	"sampling/createMessage": "sampling",
	"elicitation/create":     "elicitation",
	"roots/list":             "roots",
}

// Request implements Client: it asks the client on the response to the very request that caused it, or on the session's
// own stream, and waits for the answer, which comes in a request of its own.
func (c *call) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if err := c.canAsk(method, params); err != nil {
		return nil, err
	}
	if c.rounds != nil {
		return c.rounds.ask(ctx, method, params)
	}
	id, answer, err := c.session.ask()
	if err != nil {
		return nil, err
	}
	defer c.session.unask(id)
	message := (&wire.Message{ID: json.RawMessage(id), Method: method, Params: params}).Append(nil)
	if !c.push(message) && !c.session.pushNow(message) {
		return nil, wire.Errorf(CodeClientCannot, "the client has no open stream on which to ask it (%s)", method)
	}
	select {
	case response := <-answer:
		if response.Error != nil {
			return nil, response.Error
		}
		return response.Result, nil
	case <-ctx.Done():
		cancelled := mustJSON(map[string]any{"requestId": json.RawMessage(id), "reason": context.Cause(ctx).Error()})
		c.Notify("notifications/cancelled", cancelled)
		return nil, context.Cause(ctx)
	}
}

// TakesInputRequired implements RoundTripper.
func (c *call) TakesInputRequired() bool { return c.modern() }

// canAsk fails with CodeClientCannot if the client cannot be asked that.
func (c *call) canAsk(method string, params json.RawMessage) error {
	if c.session != nil && method == "ping" {
		return nil
	}
	capability, known := askCapabilities[method]
	if !known {
		return wire.Errorf(CodeClientCannot, "clients do not take %s", quoteShort(method))
	}
	declared, has := wire.Get(c.client.capabilities, capability)
	if !has {
		c.missing.Store(&capability)
		return wire.Errorf(CodeClientCannot, "the client does not take %s: it has not declared %s", method, capability)
	}
	if c.session == nil && c.rounds == nil {
		return wire.Errorf(CodeClientCannot, "the client has no session in which to ask it (%s)", method)
	}
	if mode, _ := wire.Get(params, "mode"); method == "elicitation/create" && string(mode) == `"url"` {
		if _, has := wire.Get(declared, "url"); !has {
			return wire.Errorf(CodeClientCannot, "the client does not take elicitation by url")
		}
	}
	return nil
}

// ask registers a request to the client, before it is sent.
func (s *session) ask() (id string, answer chan *wire.Message, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asks) >= maxAsks {
		return "", nil, wire.Errorf(CodeBusy, "%d requests to the client wait for an answer, which is the limit", maxAsks)
	}
	if s.asks == nil {
		s.asks = map[string]chan *wire.Message{}
	}
	s.asked++
	id = strconv.FormatInt(s.asked, 10)
	answer = make(chan *wire.Message, 1)
	s.asks[id] = answer
	return id, answer, nil
}

func (s *session) unask(id string) {
	s.mu.Lock()
	delete(s.asks, id)
	s.mu.Unlock()
}

// answered takes the client's answer to a request of ours; one that nobody waits for is dropped.
func (s *session) answered(message *wire.Message) {
	s.mu.Lock()
	answer := s.asks[string(message.ID)]
	delete(s.asks, string(message.ID))
	s.mu.Unlock()
	if answer != nil {
		answer <- message // it has one slot, and is taken out of the table first
	}
}

func (s *session) pushNow(message []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.push(message)
}
