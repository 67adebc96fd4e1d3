package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
)

// Members of _meta that every request of revision 2026-07-28 carries (basic, "Per-request metadata").
const (
	metaRevision     = "io.modelcontextprotocol/protocolVersion"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
)

// maxRounds bounds how often one call may ask for more input (2026-07-28, "Multi round-trip requests").
const maxRounds = 10

// decorate adds to an asker's params what this hop needs: a progress token of our own, and what 2026-07-28 wants.
func (s *session) decorate(req mcp.Request, c *call, h hello) json.RawMessage {
	if c.progress == nil && !h.stateless {
		return req.Params
	}
	meta, _ := wire.Get(req.Params, "_meta")
	if c.progress != nil {
		meta = wire.Set(meta, "progressToken", formatID(c.id))
	}
	if h.stateless {
		s.mu.Lock()
		level := s.logLevel
		s.mu.Unlock()
		var capabilities json.RawMessage
		if req.Client != nil {
			capabilities = req.Client.Capabilities()
		}
		meta = s.stamp(meta, capabilities, level)
	}
	return wire.Set(req.Params, "_meta", meta)
}

// stamp adds to meta what every request of 2026-07-28 carries. The capabilities are those of the client behind the
// call, since only it can answer what the server then asks for.
func (s *session) stamp(meta, capabilities, level json.RawMessage) json.RawMessage {
	if wire.Kind(capabilities) != '{' {
		capabilities = json.RawMessage(`{}`)
	}
	meta = wire.Set(meta, metaRevision, wire.Quote(revisionStateless))
	meta = wire.Set(meta, metaClientInfo, s.client.json())
	meta = wire.Set(meta, metaCapabilities, capabilities)
	if level != nil {
		meta = wire.Set(meta, metaLogLevel, level)
	}
	return meta
}

// bridge answers what session clients ask and 2026-07-28 servers no longer know; done is false if it is for the server.
func (s *session) bridge(req mcp.Request) (result json.RawMessage, done bool) {
	if !s.modern() {
		return nil, false
	}
	switch req.Method {
	case "ping":
	case "logging/setLevel":
		level, _ := wire.Get(req.Params, "level")
		s.mu.Lock()
		s.logLevel = slices.Clone(level)
		s.mu.Unlock()
	case "resources/subscribe", "resources/unsubscribe":
		raw, _ := wire.Get(req.Params, "uri")
		uri, ok := wire.String(raw)
		if !ok {
			return nil, false
		}
		s.watch(uri, req.Method == "resources/subscribe")
	default:
		return nil, false
	}
	return json.RawMessage(`{}`), true
}

// fulfil answers what a 2026-07-28 server wants to know before it can give its result, by asking the client, and calls
// again. A client of that revision gets the server's questions as the result, and so does one that cannot be asked.
func (s *session) fulfil(ctx context.Context, req mcp.Request, result json.RawMessage, limit time.Duration) (json.RawMessage, error) {
	for range maxRounds {
		if kind, _ := wire.Get(result, "resultType"); string(kind) != `"input_required"` {
			return result, nil
		}
		answers, err := s.inquire(ctx, req, result)
		if err != nil {
			var own *wire.Error
			if errors.As(err, &own) && own.Code == mcp.CodeClientCannot {
				return result, nil
			}
			return nil, err
		}
		again := req
		again.Params = wire.Set(req.Params, "inputResponses", answers)
		if state, ok := wire.Get(result, "requestState"); ok {
			again.Params = wire.Set(again.Params, "requestState", state)
		}
		if result, err = s.call(ctx, again, limit); err != nil {
			return nil, err
		}
	}
	return nil, wire.Errorf(mcp.CodeServerDown, "server %q asked for input %d times for one %s", s.name, maxRounds, req.Method)
}

func (s *session) inquire(ctx context.Context, req mcp.Request, result json.RawMessage) (json.RawMessage, error) {
	if req.Client == nil {
		return nil, wire.Errorf(mcp.CodeClientCannot, "nobody can be asked")
	}
	if r, ok := req.Client.(mcp.RoundTripper); ok && r.TakesInputRequired() {
		return nil, wire.Errorf(mcp.CodeClientCannot, "the client takes the questions as they are")
	}
	var answers json.RawMessage
	questions, _ := wire.Get(result, "inputRequests")
	for key, question := range wire.Members(questions) {
		raw, _ := wire.Get(question, "method")
		method, _ := wire.String(raw)
		params, _ := wire.Get(question, "params")
		answer, err := req.Client.Request(ctx, method, params)
		if err != nil {
			return nil, err
		}
		answers = wire.Set(answers, key, answer)
	}
	if answers == nil {
		answers = json.RawMessage(`{}`)
	}
	return answers, nil
}

// watch begins or ends the watching of one resource.
func (s *session) watch(uri string, on bool) {
	s.mu.Lock()
	same := s.watched[uri] == on
	if on {
		s.watched[uri] = true
	} else {
		delete(s.watched, uri)
	}
	s.mu.Unlock()
	if !same {
		s.subscribe()
	}
}

// subscribe keeps one subscriptions/listen open, in place of an earlier one: that is how a 2026-07-28 server tells that
// its lists or watched resources changed.
func (s *session) subscribe() {
	ctx, cancel := context.WithCancel(s.ended)
	s.mu.Lock()
	h := s.hello
	previous := s.listenOn
	s.listenOn = cancel
	wanted := slices.Sorted(maps.Keys(s.watched))
	s.mu.Unlock()
	if previous != nil {
		previous()
	}
	params := listenParams(h, wanted)
	if params == nil {
		cancel()
		return
	}
	s.later(func() {
		defer cancel()
		s.keepListening(ctx, mcp.Request{Method: "subscriptions/listen", Params: params})
	})
}

// listenParams asks for what the server says it can tell; nil if that is nothing.
func listenParams(h hello, resources []string) json.RawMessage {
	if !h.stateless {
		return nil
	}
	var wanted json.RawMessage
	for capability, member := range map[string]string{
		"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged",
	} {
		object, _ := wire.Get(h.capabilities, capability)
		if v, ok := wire.Get(object, "listChanged"); ok && string(v) == "true" {
			wanted = wire.Set(wanted, member, json.RawMessage(`true`))
		}
	}
	if len(resources) > 0 {
		list := []byte{'['}
		for i, uri := range resources {
			if i > 0 {
				list = append(list, ',')
			}
			list = wire.AppendString(list, uri)
		}
		wanted = wire.Set(wanted, "resourceSubscriptions", append(list, ']'))
	}
	if wanted == nil {
		return nil
	}
	return wire.Set(nil, "notifications", wanted)
}

// keepListening repeats req, which ends only when the server or the connection ends it, with growing pauses.
func (s *session) keepListening(ctx context.Context, req mcp.Request) {
	pause := backoff{min: streamPauseMin, max: streamPauseMax}
	for {
		begun := time.Now()
		_, err := s.call(ctx, req, forever)
		var rpc *wire.Error
		if ctx.Err() != nil || errors.As(err, &rpc) && rpc.Code == wire.CodeMethodNotFound {
			return
		}
		if time.Since(begun) > streamPauseMax {
			pause.reset()
		}
		wait := pause.next()
		s.log.Debug("the subscription ended; it will be opened again", zap.Duration("after", wait))
		if !sleep(ctx, wait) {
			return
		}
		s.touch(kindTools, kindPrompts, kindResources, kindTemplates) // what was missed in between
	}
}

// forever is longer than any process lives.
const forever = time.Duration(1<<63 - 1)
