package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/traposd/traposd/mcp/wire"
)

const (
	maxBatch    = 100         // messages in one array (2025-03-26)
	bodyTimeout = time.Minute // for a body to arrive
)

var (
	errCancelledByClient = errors.New("cancelled by the client")
	errSessionEnded      = errors.New("the session has ended")
	errNoRetry           = errors.New("the client did not come back with the answers")
)

// servePOST takes one message, or an array of them, of any revision.
func (e *endpoint) servePOST(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	if types := r.Header["Content-Type"]; len(types) != 1 || !isJSON(types[0]) {
		writeError(w, http.StatusUnsupportedMediaType, nil, wire.Errorf(CodeRefused, "header Content-Type must be application/json"))
		return
	}
	body, release, refused := e.l.bodies.read(w, r)
	defer release()
	if refused != nil {
		writeError(w, refused.status, nil, wire.Errorf(refused.code, "%s", refused.message))
		return
	}
	if !utf8.Valid(body) { // RFC 8259, section 8.1; a server that all clients share might end at it
		writeError(w, http.StatusBadRequest, nil, wire.Errorf(CodeParseError, "the body is not valid UTF-8"))
		return
	}
	wants, failure := modeOf(r)
	if failure != nil {
		writeError(w, http.StatusBadRequest, nil, failure)
		return
	}
	if wire.Kind(body) == '[' {
		e.serveBatch(ctx, w, r, body, wants)
		return
	}
	message, err := wire.Parse(body)
	if err != nil {
		writeError(w, http.StatusBadRequest, message.ID, asError(err))
		return
	}
	revision := revisionOf(r, message)
	if !isSessionRevision(revision) && revision != "" {
		e.serveModern(ctx, w, r, message, revision, wants)
		return
	}
	e.serveMessage(ctx, w, r, message, wants)
}

// serveMessage takes one message of a revision with sessions, or without any session.
func (e *endpoint) serveMessage(ctx context.Context, w http.ResponseWriter, r *http.Request, message *wire.Message, wants mode) {
	if message.IsRequest() && message.Method == "initialize" {
		e.initialize(w, message, wants)
		return
	}
	s, ok := e.sessionOf(w, r)
	if !ok {
		return
	}
	if !message.IsRequest() {
		e.accept(s, message)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	x := newExchange(w, r, e.l.options.Heartbeat)
	c := &call{endpoint: e, session: s, message: message, out: x, streams: x.streams, revision: assumedRevision, mode: wants}
	if s != nil {
		c.client, c.revision, c.mode = s.client, s.revision, s.mode
	} else if named := r.Header.Get(headerRevision); named != "" {
		c.revision = named
	}
	result, failure := c.serve(ctx)
	if failure != nil {
		x.answer(http.StatusOK, wire.ErrorResponse(message.ID, failure).Append(nil))
		return
	}
	x.answer(http.StatusOK, responseParts(message.ID, result)...)
}

// sessionOf finds the session that a request names: nil, true if it names none; an unknown one has been answered.
func (e *endpoint) sessionOf(w http.ResponseWriter, r *http.Request) (*session, bool) {
	id := r.Header.Get(headerSession)
	if id == "" {
		return nil, true
	}
	s := e.session(id)
	if s == nil {
		e.l.noteLostSession(r)
		writeError(w, http.StatusNotFound, nil, wire.Errorf(CodeUnknownSession, "unknown session: it has expired or the service was restarted; initialize again"))
		return nil, false
	}
	return s, true
}

// serveBatch takes an array of messages, which only 2025-03-26 and before have.
func (e *endpoint) serveBatch(ctx context.Context, w http.ResponseWriter, r *http.Request, body []byte, wants mode) {
	refuse := func(code int64, format string, args ...any) {
		writeError(w, http.StatusBadRequest, nil, wire.Errorf(code, format, args...))
	}
	if !json.Valid(body) {
		refuse(CodeParseError, "not valid JSON")
		return
	}
	s, ok := e.sessionOf(w, r)
	if !ok {
		return
	}
	revision := r.Header.Get(headerRevision)
	if s != nil {
		revision = s.revision
	}
	if !hasBatches(revision) {
		refuse(CodeInvalidRequest, "revision %s has no arrays of messages; send them one by one", quoteShort(revision))
		return
	}
	var messages []*wire.Message
	for element := range wire.Elements(body) {
		message, err := wire.Parse(element)
		if err != nil || message.Method == "initialize" || len(messages) == maxBatch {
			refuse(CodeInvalidRequest, "the array must hold at most %d valid messages, none of them initialize", maxBatch)
			return
		}
		messages = append(messages, message)
	}
	if len(messages) == 0 {
		refuse(CodeInvalidRequest, "the array is empty")
		return
	}
	x := newExchange(w, r, e.l.options.Heartbeat)
	if answers := e.serveAll(ctx, s, x, messages, wants); answers != nil {
		x.answer(http.StatusOK, answers)
		return
	}
	x.abandon()
	w.WriteHeader(http.StatusAccepted)
}

// serveAll works on the messages of a batch at the same time and gives the array of answers; nil if none asks for one.
func (e *endpoint) serveAll(ctx context.Context, s *session, x *exchange, messages []*wire.Message, wants mode) []byte {
	answers := make([][]byte, len(messages))
	var group sync.WaitGroup
	for i, message := range messages {
		if !message.IsRequest() {
			e.accept(s, message)
			continue
		}
		c := &call{endpoint: e, session: s, message: message, out: x, streams: x.streams, revision: assumedRevision, mode: wants}
		if s != nil {
			c.client, c.revision, c.mode = s.client, s.revision, s.mode
		}
		group.Go(func() {
			result, failure := c.serve(ctx)
			if failure != nil {
				answers[i] = wire.ErrorResponse(message.ID, failure).Append(nil)
				return
			}
			for _, part := range responseParts(message.ID, result) {
				answers[i] = append(answers[i], part...)
			}
		})
	}
	group.Wait()
	var array []byte
	for _, answer := range answers {
		if answer == nil {
			continue
		}
		if array == nil {
			array = append(array, '[')
		} else {
			array = append(array, ',')
		}
		array = append(array, answer...)
	}
	if array == nil {
		return nil
	}
	return append(array, ']')
}

// accept takes a notification or an answer from a client. Unknown ones are ignored, as JSON-RPC has it.
func (e *endpoint) accept(s *session, message *wire.Message) {
	switch {
	case s == nil:
	case message.IsResponse():
		s.answered(message)
	case message.Method == "notifications/cancelled":
		if id, ok := wire.Get(message.Params, "requestId"); ok {
			s.cancelCall(string(id))
		}
	}
}

// responseParts is a response whose result comes in parts.
func responseParts(id json.RawMessage, result [][]byte) [][]byte {
	head := append(append([]byte(`{"jsonrpc":"2.0","id":`), id...), `,"result":`...)
	if len(result) == 1 && len(result[0]) < 16<<10 {
		return [][]byte{append(append(head, result[0]...), '}')}
	}
	parts := append(make([][]byte, 0, len(result)+2), head)
	return append(append(parts, result...), []byte{'}'})
}

// revisionOf tells the revision that a message is written in: empty if it names none.
func revisionOf(r *http.Request, message *wire.Message) string {
	if message.IsRequest() {
		if meta, ok := wire.Get(message.Params, "_meta"); ok {
			if raw, ok := wire.Get(meta, metaProtocolVersion); ok {
				if revision, ok := wire.String(raw); ok && revision != "" {
					return revision
				}
			}
		}
		if message.Method == "initialize" {
			return "" // its own params negotiate the revision
		}
	}
	return r.Header.Get(headerRevision)
}

// isJSON reports whether a Content-Type is application/json, parameters aside.
func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(media), "application/json")
}

// acceptsStream reports whether the client asks for event streams by name. A client that takes anything (`*/*`) is
// most often one that reads a single JSON value.
func acceptsStream(r *http.Request) bool {
	for _, value := range r.Header["Accept"] {
		if strings.Contains(value, "text/event-stream") {
			return true
		}
	}
	return false
}

// acceptsJSON reports whether the client takes a plain JSON answer; one that says nothing does.
func acceptsJSON(r *http.Request) bool {
	for _, value := range r.Header["Accept"] {
		if strings.Contains(value, "json") || strings.Contains(value, "*/*") || strings.Contains(value, "application/*") {
			return true
		}
	}
	return len(r.Header["Accept"]) == 0
}

// asError gives the JSON-RPC error in err's tree, or an internal one.
func asError(err error) *wire.Error {
	var e *wire.Error
	if errors.As(err, &e) {
		return e
	}
	return wire.Errorf(CodeInternalError, "%s", err)
}
