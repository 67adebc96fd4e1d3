package mcp

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/traposd/traposd/mcp/wire"
)

// InputRequired reports whether a result is not the answer yet but asks the client for input (2026-07-28,
// basic/patterns/mrtr).
//
// Beside the results that say so, it takes those without a resultType that have questions for `inputRequests`, nothing
// but questions, and at least one. No session revision has such a member, but servers with one handler for both eras let it
// through: those of the Go SDK (1.8.0) put a handler's first questions to a session client themselves and give its second
// ones as the result. Taken for complete, as the absent resultType would have it, that result is an empty answer.
func InputRequired(result json.RawMessage) bool {
	if !bytes.Contains(result, []byte(`"input`)) {
		return false // "input_required" and "inputRequests" are plain ASCII, which nobody escapes
	}
	if kind, said := wire.Get(result, "resultType"); said {
		return string(kind) == `"input_required"`
	}
	requests, _ := wire.Get(result, "inputRequests")
	any := false
	for _, request := range wire.Members(requests) {
		raw, _ := wire.Get(request, "method")
		method, _ := wire.String(raw)
		if _, known := askCapabilities[method]; !known {
			return false
		}
		any = true
	}
	return any
}

// maxInputRounds bounds how often one call may ask its client for input with a result.
const maxInputRounds = 10

// fulfil makes of a result that asks for input what the client can take. A 2026-07-28 client gets the questions; a
// session client is asked them, and the server called again with the answers, until it has enough.
func (c *call) fulfil(ctx context.Context, entry *Entry, request Request, result json.RawMessage) (json.RawMessage, error) {
	if _, said := wire.Get(result, "resultType"); said && c.modern() {
		return result, nil // the server knows the client's capabilities, and that they bind it
	}
	for range maxInputRounds {
		questions, err := c.questions(result)
		if err != nil {
			return nil, err
		}
		if c.modern() {
			return wire.Set(result, "resultType", json.RawMessage(`"input_required"`)), nil
		}
		answers := json.RawMessage(`{}`)
		for _, q := range questions {
			answer, err := c.Request(ctx, q.method, q.params)
			if err != nil {
				return nil, err
			}
			answers = wire.Set(answers, q.key, answer)
		}
		again := request
		again.Params = wire.Set(request.Params, "inputResponses", answers)
		if state, ok := wire.Get(result, "requestState"); ok {
			again.Params = wire.Set(again.Params, "requestState", state)
		}
		if result, err = c.invoke(ctx, entry, again); err != nil || !InputRequired(result) {
			return result, err
		}
	}
	return nil, wire.Errorf(CodeServerDown, "server %s asked for input %d times for one %s", quoteShort(entry.Name), maxInputRounds, request.Method)
}

// inputRequest is one question in a result.
type inputRequest struct {
	key, method string
	params      json.RawMessage
}

// questions gives the questions of a result; an error if there is one that the client cannot answer.
func (c *call) questions(result json.RawMessage) (list []inputRequest, err error) {
	requests, _ := wire.Get(result, "inputRequests")
	for key, request := range wire.Members(requests) {
		q := inputRequest{key: key}
		raw, _ := wire.Get(request, "method")
		q.method, _ = wire.String(raw)
		q.params, _ = wire.Get(request, "params")
		if err := c.canAsk(q.method, q.params); err != nil {
			return nil, err
		}
		list = append(list, q)
	}
	return list, nil
}
