package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/traposd/traposd/mcp/wire"
)

// initialize opens a session. A session id in the request is ignored: after a restart of the service, clients send the
// one that they had.
func (e *endpoint) initialize(w http.ResponseWriter, message *wire.Message, wants mode) {
	asked, _ := wire.Get(message.Params, "protocolVersion")
	revision, ok := wire.String(asked)
	if !ok {
		writeError(w, http.StatusOK, message.ID, wire.Errorf(CodeInvalidParams, `initialize needs a string "protocolVersion"`))
		return
	}
	revision = negotiate(revision)
	info, _ := wire.Get(message.Params, "clientInfo")
	capabilities, _ := wire.Get(message.Params, "capabilities")
	client := clientInfo{name: clientName(info), product: productOf(info), capabilities: cloneObject(capabilities)}
	s, failure := e.openSession(revision, client, wants)
	if failure != nil {
		writeError(w, http.StatusServiceUnavailable, message.ID, failure)
		return
	}
	snapshot := s.seen()
	result := []byte(`{"protocolVersion":`)
	result = wire.AppendString(result, revision)
	result = append(append(result, `,"capabilities":`...), e.declared(snapshot).json()...)
	result = append(append(result, `,"serverInfo":`...), e.l.serverInfo...)
	result = e.appendInstructions(result, snapshot)
	result = append(result, '}')
	w.Header().Set(headerSession, s.id)
	writeJSON(w, http.StatusOK, responseParts(message.ID, [][]byte{result})...)
}

// appendInstructions adds the instructions member, if there are any.
func (e *endpoint) appendInstructions(result []byte, snapshot *snapshot) []byte {
	text := e.l.options.Instructions
	if text != "" && snapshot.instructions != "" {
		text += "\n\n"
	}
	if text += snapshot.instructions; text == "" {
		return result
	}
	return wire.AppendString(append(result, `,"instructions":`...), text)
}

// maxClientName bounds what is kept of a client's name, in bytes.
const maxClientName = 100

// clientName is how a client calls itself, fit for a log: `name/version`, no control characters, at most 100 bytes.
func clientName(info json.RawMessage) string {
	name, _ := wire.Get(info, "name")
	version, _ := wire.Get(info, "version")
	text, _ := wire.String(name)
	if v, _ := wire.String(version); v != "" {
		text += "/" + v
	}
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, text)
	if len(text) > maxClientName {
		text = strings.ToValidUTF8(text[:maxClientName], "")
	}
	return text
}

// productOf is the name that a client gives itself, without its version, as it is; at most 100 bytes of it.
func productOf(info json.RawMessage) string {
	raw, _ := wire.Get(info, "name")
	name, _ := wire.String(raw)
	return strings.Clone(name[:min(len(name), maxClientName)])
}

// cloneObject copies a JSON object, so that it does not hold on to the body it came in; nil for anything else.
func cloneObject(raw json.RawMessage) json.RawMessage {
	if wire.Kind(raw) != '{' {
		return nil
	}
	return append(json.RawMessage(nil), raw...)
}

// declared is what clients are told that the listener can do.
type declared struct {
	prompts, resources, subscribe, completions, logging bool
}

func (e *endpoint) declared(s *snapshot) declared {
	ahead := e.l.options.Declare
	return declared{
		prompts:     s.hasPrompts || ahead&DeclarePrompts != 0,
		resources:   s.hasResources || ahead&DeclareResources != 0,
		subscribe:   s.canSubscribe || ahead&DeclareResources != 0,
		completions: s.canComplete || ahead&DeclareCompletions != 0,
		logging:     s.canLog || ahead&DeclareLogging != 0,
	}
}

// json is the capabilities object.
func (d declared) json() json.RawMessage {
	object := []byte(`{"tools":{"listChanged":true}`)
	add := func(has bool, member string) {
		if has {
			object = append(append(object, ','), member...)
		}
	}
	add(d.prompts, `"prompts":{"listChanged":true}`)
	add(d.resources && d.subscribe, `"resources":{"subscribe":true,"listChanged":true}`)
	add(d.resources && !d.subscribe, `"resources":{"listChanged":true}`)
	add(d.completions, `"completions":{}`)
	add(d.logging, `"logging":{}`)
	return append(object, '}')
}

// serveGET opens the stream on which a session gets what belongs to none of its requests.
func (e *endpoint) serveGET(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(headerSession) == "" || !acceptsStream(r) {
		notAllowed(w) // 405 tells a client that there is no such stream for it
		return
	}
	s, ok := e.sessionOf(w, r)
	if !ok {
		return
	}
	out := s.attach()
	if out == nil {
		writeError(w, http.StatusNotFound, nil, wire.Errorf(CodeUnknownSession, "the session has ended; initialize again"))
		return
	}
	defer s.detach(out)
	pump(ctx, w, out, e.l.options.Heartbeat)
}

// pump writes an outbox to a response until it is closed, the client is gone or ctx ends.
func pump(ctx context.Context, w http.ResponseWriter, out *outbox, heartbeat time.Duration) {
	events := newEventWriter(w)
	defer events.end()
	if events.start() != nil {
		return
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			err = events.comment()
		case <-out.wake:
		}
		messages, closed := out.take()
		if err == nil {
			err = events.messages(messages)
		}
		if closed || err != nil {
			return
		}
	}
}

// serveDELETE ends a session at its client's wish.
func (e *endpoint) serveDELETE(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(headerSession) == "" {
		notAllowed(w)
		return
	}
	s, ok := e.sessionOf(w, r)
	if !ok {
		return
	}
	e.l.endSession(s)
	w.WriteHeader(http.StatusNoContent)
}
