package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/traposd/traposd/mcp/mirror"
	"github.com/traposd/traposd/mcp/wire"
)

// serveModern takes one message of a revision without sessions: 2026-07-28, or one that is not known.
func (e *endpoint) serveModern(ctx context.Context, w http.ResponseWriter, r *http.Request, message *wire.Message, revision string, wants mode) {
	switch {
	case message.IsResponse():
		writeError(w, http.StatusBadRequest, message.ID, wire.Errorf(CodeInvalidRequest, "revision %s has no responses from clients", Revision20260728))
		return
	case message.IsNotification():
		// A closed response stream is what cancels here; a notification has nothing to refer to (2026-07-28, transports).
		w.WriteHeader(http.StatusAccepted)
		return
	}
	meta, _ := wire.Get(message.Params, "_meta")
	if failure := checkModern(r, message, meta, revision); failure != nil {
		writeError(w, http.StatusBadRequest, message.ID, failure)
		return
	}
	c := &call{endpoint: e, message: message, mode: wants, revision: revision, level: levelOff}
	info, _ := wire.Get(meta, metaClientInfo)
	c.client.name, c.client.product = clientName(info), productOf(info)
	c.client.capabilities, _ = wire.Get(meta, metaClientCapabilities)
	if raw, ok := wire.Get(meta, metaLogLevel); ok {
		if level, known := parseLevel(raw); known {
			c.level = level
		}
	}
	switch message.Method {
	case "server/discover":
		writeJSON(w, http.StatusOK, responseParts(message.ID, [][]byte{c.discover()})...)
		return
	case "subscriptions/listen":
		e.serveListen(ctx, w, c)
		return
	}
	if message.Method == "tools/call" {
		name, _ := wire.Get(message.Params, "name")
		exposed, _ := wire.String(name)
		tool, _ := c.seen().route(exposed)
		if failure := checkParams(r, tool, message.Params); failure != nil {
			writeError(w, http.StatusBadRequest, message.ID, failure)
			return
		}
	}
	if c.mayTakeRounds() {
		e.serveRound(ctx, w, r, c)
		return
	}
	x := newExchange(w, r, e.l.options.Heartbeat)
	c.out, c.streams = x, x.streams
	result, failure := c.serve(ctx)
	if failure != nil {
		x.answer(modernStatus(failure.Code), wire.ErrorResponse(message.ID, failure).Append(nil))
		return
	}
	x.answer(http.StatusOK, responseParts(message.ID, result)...)
}

// modernStatus is the HTTP status of an error (2026-07-28, transports, "Protocol Version Header"; basic, "_meta").
func modernStatus(code int64) int {
	switch code {
	case CodeMethodNotFound:
		return http.StatusNotFound
	case CodeInvalidParams, CodeHeaderMismatch, CodeMissingCapability, CodeUnsupportedVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// checkModern holds the headers against the body, as every server that reads both must (2026-07-28, transports,
// "Server Validation").
func checkModern(r *http.Request, message *wire.Message, meta json.RawMessage, revision string) *wire.Error {
	named, failure := oneHeader(r, headerRevision)
	if failure != nil {
		return failure
	}
	inBody, _ := wire.Get(meta, metaProtocolVersion)
	bodyRevision, _ := wire.String(inBody)
	if revision != Revision20260728 && (bodyRevision == "" || bodyRevision == named) {
		failure := wire.Errorf(CodeUnsupportedVersion, "unsupported protocol version %s", quoteShort(revision))
		failure.Data = mustJSON(map[string]any{"supported": supportedRevisions, "requested": revision})
		return failure
	}
	if bodyRevision == "" {
		return wire.Errorf(CodeInvalidParams, "_meta needs a string %q", metaProtocolVersion)
	}
	if bodyRevision != named {
		return mismatch(headerRevision, named, bodyRevision)
	}
	if capabilities, _ := wire.Get(meta, metaClientCapabilities); wire.Kind(capabilities) != '{' {
		return wire.Errorf(CodeInvalidParams, "_meta needs an object %q", metaClientCapabilities)
	}
	if info, ok := wire.Get(meta, metaClientInfo); ok && wire.Kind(info) != '{' {
		return wire.Errorf(CodeInvalidParams, "_meta needs %q to be an object", metaClientInfo)
	}
	method, failure := oneHeader(r, headerMethod)
	if failure != nil {
		return failure
	}
	if method != message.Method {
		return mismatch(headerMethod, method, message.Method)
	}
	return checkName(r, message)
}

func checkName(r *http.Request, message *wire.Message) *wire.Error {
	key := mirror.NameKey(message.Method)
	if key == "" {
		return nil
	}
	named, failure := oneHeader(r, headerName)
	if failure != nil {
		return failure
	}
	raw, _ := wire.Get(message.Params, key)
	inBody, ok := wire.String(raw)
	if !ok {
		return wire.Errorf(CodeInvalidParams, "%s needs a string %q", message.Method, key)
	}
	decoded, ok := mirror.Decode(named)
	if !ok || decoded != inBody {
		return mismatch(headerName, named, inBody)
	}
	return nil
}

// oneHeader gives a header's only value; it must be there, in visible ASCII.
func oneHeader(r *http.Request, name string) (string, *wire.Error) {
	values := r.Header[name]
	if len(values) != 1 || values[0] == "" {
		return "", wire.Errorf(CodeHeaderMismatch, "header %s is needed once, and is there %d times", name, len(values))
	}
	for i := range len(values[0]) {
		if c := values[0][i]; c < ' ' && c != '\t' || c > '~' {
			return "", wire.Errorf(CodeHeaderMismatch, "header %s has characters that are not plain ASCII", name)
		}
	}
	return values[0], nil
}

func mismatch(header, got, want string) *wire.Error {
	return wire.Errorf(CodeHeaderMismatch, "header %s is %s, but the body says %s", header, quoteShort(got), quoteShort(want))
}

// discover is the result of `server/discover`.
func (c *call) discover() []byte {
	e, snapshot := c.endpoint, c.seen()
	result := append([]byte(`{"supportedVersions":`), mustJSON(supportedRevisions)...)
	result = append(append(result, `,"capabilities":`...), e.declared(snapshot).json()...)
	result = e.appendInstructions(result, snapshot)
	return append(result, e.l.modernTail(true)...)
}

// modernTail closes a result of our own with what 2026-07-28 has in every result; those of lists, reads and discover must
// say how long they may be cached, and ours may not be: a server can join or leave at any time.
func (l *Listener) modernTail(cacheable bool) []byte {
	hints := ""
	if cacheable {
		hints = `,"ttlMs":0,"cacheScope":"private"`
	}
	return fmt.Appendf(nil, `,"resultType":"complete"%s,"_meta":{%q:%s}}`, hints, metaServerInfo, l.serverInfo)
}

// modernResult adds what 2026-07-28 demands of a result, where the server's own lacks it.
func modernResult(method string, result json.RawMessage) json.RawMessage {
	raw, found := wire.Get(result, "resultType")
	if !found {
		result = wire.Set(result, "resultType", json.RawMessage(`"complete"`))
	} else if kind, _ := wire.String(raw); kind != "complete" {
		return result
	}
	if method != "resources/read" {
		return result
	}
	if _, found := wire.Get(result, "ttlMs"); !found {
		result = wire.Set(result, "ttlMs", json.RawMessage(`0`))
	}
	if _, found := wire.Get(result, "cacheScope"); !found {
		result = wire.Set(result, "cacheScope", json.RawMessage(`"private"`))
	}
	return result
}
