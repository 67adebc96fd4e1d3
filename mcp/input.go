package mcp

import (
	"bytes"
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

// required makes of a result that asks for input what this client can take, or the error that says why it cannot.
func (c *call) required(result json.RawMessage) (json.RawMessage, error) {
	_, said := wire.Get(result, "resultType")
	if said && c.modern() {
		return result, nil // the server knows the client's capabilities, and that they bind it
	}
	requests, _ := wire.Get(result, "inputRequests")
	for _, request := range wire.Members(requests) {
		raw, _ := wire.Get(request, "method")
		method, _ := wire.String(raw)
		params, _ := wire.Get(request, "params")
		if err := c.canAsk(method, params); err != nil {
			return nil, err
		}
	}
	if !c.modern() {
		return nil, wire.Errorf(CodeClientCannot, "the server asks for input in a way that revision %s does not have", c.revision)
	}
	return wire.Set(result, "resultType", json.RawMessage(`"input_required"`)), nil
}
