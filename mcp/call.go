package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcp/wire"
)

// call is one request of a client while it is worked on. To the server it is relayed to, it is the Client.
type call struct {
	endpoint *endpoint
	session  *session // nil: the client has none
	client   clientInfo
	mode     mode
	revision string
	level    logLevel // of a 2026-07-28 request; levelOff if it asks for no log messages
	message  *wire.Message
	rounds   *rounds // nil: the call lasts for one request
	out      out
	streams  bool                   // the client takes messages ahead of the answer
	missing  atomic.Pointer[string] // a capability that the server needed and the client has not declared
}

// out is where messages to the client go that come ahead of the answer. push does not block, and reports whether the
// message was taken in.
type out interface{ push(message []byte) bool }

func (c *call) modern() bool { return c.revision == Revision20260728 }

// seen is the catalogue as the client sees it.
func (c *call) seen() *snapshot {
	return c.endpoint.catalogue.snapshot().seenBy(c.client.product, c.mode)
}

// serve works on the request. The result comes in parts, so that a cached list is not copied.
func (c *call) serve(ctx context.Context) (result [][]byte, failure *wire.Error) {
	if c.session == nil {
		return c.dispatch(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	id := string(c.message.ID)
	if err := c.session.begin(id, cancel); err != nil {
		return nil, err
	}
	defer c.session.end(id)
	return c.dispatch(ctx)
}

// dispatch routes by method. What a revision does not have is not found, as in a server of that revision alone.
func (c *call) dispatch(ctx context.Context) ([][]byte, *wire.Error) {
	snapshot := c.seen()
	declared := c.endpoint.declared(snapshot)
	switch method := c.message.Method; {
	case method == "tools/list":
		return c.list(kindTools, snapshot, snapshot.tools)
	case method == "tools/call":
		return c.callTool(ctx, snapshot)
	case method == "prompts/list" && declared.prompts:
		return c.list(kindPrompts, snapshot, snapshot.prompts)
	case method == "prompts/get" && declared.prompts:
		return c.getPrompt(ctx, snapshot)
	case method == "resources/list" && declared.resources:
		return c.list(kindResources, snapshot, snapshot.resources)
	case method == "resources/templates/list" && declared.resources:
		return c.list(kindResources, snapshot, snapshot.templates)
	case method == "resources/read" && declared.resources:
		return c.readResource(ctx, snapshot)
	case method == "completion/complete" && declared.completions:
		return c.complete(ctx, snapshot)
	case c.modern():
	case method == "ping":
		return emptyResult, nil
	case method == "resources/subscribe" && declared.subscribe:
		return c.subscribe(ctx, snapshot)
	case method == "resources/unsubscribe" && declared.subscribe:
		return c.unsubscribe()
	case method == "logging/setLevel" && declared.logging:
		return c.setLevel(ctx, snapshot)
	}
	return nil, wire.Errorf(CodeMethodNotFound, "method not found: %s", quoteShort(c.message.Method))
}

var emptyResult = [][]byte{[]byte(`{}`)}

// list answers with a whole list from its cached encoding. There are no pages, hence no cursors.
func (c *call) list(k kind, snapshot *snapshot, l *list) ([][]byte, *wire.Error) {
	if cursor, ok := wire.Get(c.message.Params, "cursor"); ok && wire.Kind(cursor) != 'n' {
		return nil, wire.Errorf(CodeInvalidParams, "unknown cursor: the list has one page")
	}
	tail := []byte{'}'}
	if c.modern() {
		tail = c.endpoint.l.modernTail(true)
	} else if c.session != nil {
		c.session.saw(k, snapshot.sums[k])
	}
	return [][]byte{[]byte(`{"` + l.member + `":`), l.array, tail}, nil
}

func (c *call) callTool(ctx context.Context, snapshot *snapshot) ([][]byte, *wire.Error) {
	name, err := c.stringParam("name")
	if err != nil {
		return nil, err
	}
	found, ok := snapshot.route(name)
	switch {
	case !ok:
		return nil, snapshot.unknownTool(name, "tools/list")
	case found.entry == nil:
		return c.serveCompact(ctx, snapshot, name)
	}
	return c.relay(ctx, found, c.renamed("name", name, found.name))
}

// unknownTool says that there is no such tool, or what hides it.
func (s *snapshot) unknownTool(name, lister string) *wire.Error {
	if by, ok := s.hidden[name]; ok {
		return wire.Errorf(CodeToolHidden, "tool %s is hidden from this client by %s", quoteShort(name), by)
	}
	return wire.Errorf(CodeInvalidParams, "unknown tool %s; %s has the names", quoteShort(name), lister)
}

func (c *call) getPrompt(ctx context.Context, snapshot *snapshot) ([][]byte, *wire.Error) {
	name, err := c.stringParam("name")
	if err != nil {
		return nil, err
	}
	found, ok := snapshot.prompts.routes[name]
	if !ok {
		return nil, wire.Errorf(CodeInvalidParams, "unknown prompt %s; prompts/list has the names", quoteShort(name))
	}
	return c.relay(ctx, found, c.renamed("name", name, found.name))
}

// readResource asks the servers that may have the resource, one after the other, until one does.
func (c *call) readResource(ctx context.Context, snapshot *snapshot) ([][]byte, *wire.Error) {
	uri, err := c.stringParam("uri")
	if err != nil {
		return nil, err
	}
	var failure *wire.Error
	for _, found := range snapshot.resource(uri) {
		result, err := c.relay(ctx, found, c.renamed("uri", uri, found.name))
		if err == nil {
			return result, nil
		}
		failure = err
		if err.Code != CodeResourceNotFound && err.Code != CodeInvalidParams {
			break
		}
	}
	if failure == nil {
		failure = c.unknownResource(uri)
	}
	return nil, failure
}

func (c *call) unknownResource(uri string) *wire.Error {
	code := CodeResourceNotFound
	if c.modern() {
		code = CodeInvalidParams // 2026-07-28 must not emit the older code any more (basic, "Error Codes")
	}
	failure := wire.Errorf(code, "unknown resource %s", quoteShort(uri))
	failure.Data = mustJSON(map[string]string{"uri": uri})
	return failure
}

func (c *call) complete(ctx context.Context, snapshot *snapshot) ([][]byte, *wire.Error) {
	ref, _ := wire.Get(c.message.Params, "ref")
	found, own, ok := snapshot.completion(ref)
	if !ok {
		return nil, wire.Errorf(CodeInvalidParams, "the ref names no known prompt or resource template")
	}
	return c.relay(ctx, found, wire.Set(c.message.Params, "ref", own))
}

// stringParam reads the param that decides what is asked for. It must be there once, and none beside it under a name that
// only differs in case: servers go by the last of them, whatever its case (encoding/json does), and would do something else
// than what was looked up here and held against the filters.
func (c *call) stringParam(key string) (value string, failure *wire.Error) {
	found := false
	for name, raw := range wire.Members(c.message.Params) {
		if !strings.EqualFold(name, key) {
			continue
		}
		if found || name != key {
			return "", wire.Errorf(CodeInvalidParams, "%s has to say %q once and in that case", c.message.Method, key)
		}
		if value, found = wire.String(raw); !found {
			break
		}
	}
	if !found {
		return "", wire.Errorf(CodeInvalidParams, "%s needs a string %q", c.message.Method, key)
	}
	return value, nil
}

// renamed gives the params with the server's own name in them.
func (c *call) renamed(key, exposed, own string) json.RawMessage {
	if exposed == own {
		return c.message.Params
	}
	return wire.Set(c.message.Params, key, wire.Quote(own))
}

// relay passes the request on and its result back.
func (c *call) relay(ctx context.Context, to target, params json.RawMessage) ([][]byte, *wire.Error) {
	params, token := stripMeta(params)
	request := Request{Method: c.message.Method, Params: params, Client: c}
	if token != nil && c.streams {
		request.Progress = func(params json.RawMessage) { c.progress(token, params) }
	}
	began := time.Now()
	result, err := c.invoke(ctx, to.entry, request)
	if err == nil && InputRequired(result) {
		result, err = c.fulfil(ctx, to.entry, request, result)
	}
	if c.endpoint.l.options.Observe != nil {
		c.observe(ctx, to, began, result, err)
	}
	if err != nil {
		return nil, c.failure(ctx, to.entry, err)
	}
	if c.modern() {
		result = modernResult(c.message.Method, result)
	}
	return [][]byte{result}, nil
}

// invoke calls the server; a panic in it fails this one call.
func (c *call) invoke(ctx context.Context, entry *Entry, request Request) (result json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			c.endpoint.l.logger.Error("a call panicked", zap.String("server", entry.Name), zap.String("method", request.Method),
				zap.String("panic", fmt.Sprint(v)), zap.ByteString("stack", debug.Stack()))
			err = wire.Errorf(CodeInternalError, "internal error")
		}
	}()
	if entry.Server == nil {
		return nil, wire.Errorf(CodeServerStarting, "server %s is not ready", quoteShort(entry.Name))
	}
	result, err = entry.Server.Call(ctx, request)
	if err == nil && wire.Kind(result) != '{' {
		result = json.RawMessage(`{}`)
	}
	return result, err
}

// failure is the error to answer with. A cancelled call is answered too, although the specification would have it
// silent: over HTTP, a response without an answer makes clients reconnect and wait.
func (c *call) failure(ctx context.Context, entry *Entry, err error) *wire.Error {
	if ctx.Err() != nil {
		var known *wire.Error
		if errors.As(context.Cause(ctx), &known) {
			return known
		}
		return wire.Errorf(CodeCancelled, "cancelled: %s", context.Cause(ctx))
	}
	failure := asError(err)
	switch missing := c.missing.Load(); {
	case !c.modern():
	case missing != nil:
		// 2026-07-28, basic, "_meta": a request that needs what the client has not declared fails in just this way.
		failure = wire.Errorf(CodeMissingCapability, "%s", failure.Message)
		failure.Data = mustJSON(map[string]any{"requiredCapabilities": map[string]any{*missing: map[string]any{}}})
	case failure.Code == CodeResourceNotFound:
		failure = &wire.Error{Code: CodeInvalidParams, Message: failure.Message, Data: failure.Data}
	}
	c.endpoint.l.logger.Debug("call failed", zap.String("server", entry.Name), zap.String("method", c.message.Method),
		zap.Int64("code", failure.Code))
	return failure
}

// progress passes a progress notification on under the client's own token.
func (c *call) progress(token, params json.RawMessage) {
	if c.rounds != nil {
		if token = c.rounds.progressToken(); token == nil {
			return
		}
	}
	c.push((&wire.Message{
		Method: "notifications/progress",
		Params: wire.Set(params, metaProgressToken, token),
	}).Append(nil))
}

// stripMeta takes out of `_meta` what concerns only the client and us: the progress token, which it returns, and the
// fields that 2026-07-28 has on every request. The client's capabilities stay: a session that several clients share was
// opened with those of none of them, and servers of both eras look at the request first.
func stripMeta(params json.RawMessage) (stripped, token json.RawMessage) {
	meta, ok := wire.Get(params, "_meta")
	if !ok || wire.Kind(meta) != '{' {
		return params, nil
	}
	rest := meta
	if value, ok := wire.Get(meta, metaProgressToken); ok {
		if k := wire.Kind(value); k == '"' || k == '0' {
			token = value
		}
		rest = wire.Delete(rest, metaProgressToken)
	}
	for _, key := range [...]string{metaProtocolVersion, metaClientInfo, metaLogLevel} {
		rest = wire.Delete(rest, key)
	}
	switch {
	case len(rest) == len(meta):
		return params, token
	case string(rest) == `{}`:
		return wire.Delete(params, "_meta"), token
	}
	return wire.Set(params, "_meta", rest), token
}

// Name implements Client.
func (c *call) Name() string { return c.client.name }

// Capabilities implements Client.
func (c *call) Capabilities() json.RawMessage { return c.client.capabilities }

// sessionHash bytes of a hash tell one session from another. The id itself is all that a request needs to be in the session,
// and so no log may have it.
const sessionHash = 6

// Session implements Sessioned.
func (c *call) Session() string {
	if c.session == nil {
		return ""
	}
	sum := sha256.Sum256([]byte(c.session.id))
	return hex.EncodeToString(sum[:sessionHash])
}

// Notify implements Client: the notification travels on the response to this very request, if that can be a stream.
func (c *call) Notify(method string, params json.RawMessage) {
	if method == "notifications/message" && !c.wantsLog(params) {
		return
	}
	c.push((&wire.Message{Method: method, Params: params}).Append(nil))
}

func (c *call) push(message []byte) bool { return c.out != nil && c.out.push(message) }

func (c *call) wantsLog(params json.RawMessage) bool {
	level := c.level
	if c.session != nil {
		c.session.mu.Lock()
		level = c.session.level
		c.session.mu.Unlock()
	}
	return level.admits(params)
}

// byteSize says a number of bytes as people do.
func byteSize(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return strconv.FormatInt(n>>20, 10) + " MiB"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}
