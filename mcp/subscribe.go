package mcp

import (
	"context"
	"encoding/json"
	"time"

	"github.com/traposd/traposd/mcp/wire"
)

// unsubscribeTimeout bounds the wait for a server's answer when nobody wants a resource any more.
const unsubscribeTimeout = 5 * time.Second

// watchedResource is a resource that some client wants to hear of, as its server calls it.
type watchedResource struct{ serverID, uri string }

// subscribe answers `resources/subscribe` of a session.
func (c *call) subscribe(ctx context.Context, snapshot *snapshot) ([][]byte, *wire.Error) {
	uri, err := c.stringParam("uri")
	if err != nil {
		return nil, err
	}
	if c.session == nil {
		return nil, wire.Errorf(CodeInvalidRequest, "a subscription needs a session: initialize, then send its %s", headerSession)
	}
	if !c.session.reserve(uri) {
		return nil, wire.Errorf(CodeBusy, "%d resources are subscribed to, which is the limit", maxSubscriptions)
	}
	resource, err := c.watch(ctx, snapshot, uri)
	if err != nil {
		return nil, err
	}
	if !c.session.subscribed(uri, resource) {
		c.endpoint.l.unwatch(resource)
	}
	return emptyResult, nil
}

// unsubscribe answers `resources/unsubscribe` of a session.
func (c *call) unsubscribe() ([][]byte, *wire.Error) {
	uri, err := c.stringParam("uri")
	if err != nil {
		return nil, err
	}
	if c.session == nil {
		return emptyResult, nil
	}
	c.session.mu.Lock()
	resource, ok := c.session.subscriptions[uri]
	delete(c.session.subscriptions, uri)
	c.session.mu.Unlock()
	if ok {
		c.endpoint.l.unwatch(resource)
	}
	return emptyResult, nil
}

// reserve reports whether there is room for a subscription to uri.
func (s *session) reserve(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, has := s.subscriptions[uri]
	return has || len(s.subscriptions) < maxSubscriptions
}

// subscribed notes a subscription and reports whether it is a new one of a living session.
func (s *session) subscribed(uri string, resource watchedResource) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, has := s.subscriptions[uri]; has || s.closed {
		return false
	}
	if s.subscriptions == nil {
		s.subscriptions = map[string]watchedResource{}
	}
	s.subscriptions[uri] = resource
	return true
}

// watch subscribes at the server that has the resource, and counts it. Every watch is sent on: servers take a repeated one
// for the same, and one that was restarted since has forgotten the first.
func (c *call) watch(ctx context.Context, snapshot *snapshot, uri string) (watchedResource, *wire.Error) {
	failure := c.unknownResource(uri)
	for _, found := range snapshot.resource(uri) {
		_, err := c.invoke(ctx, found.entry, Request{
			Method: "resources/subscribe", Params: mustJSON(map[string]string{"uri": found.name}), Client: c,
		})
		if err == nil {
			resource := watchedResource{found.entry.ID, found.name}
			c.endpoint.l.mu.Lock()
			c.endpoint.l.watched[resource]++
			c.endpoint.l.mu.Unlock()
			return resource, nil
		}
		failure = c.failure(ctx, found.entry, err)
	}
	return watchedResource{}, failure
}

// unwatch counts a watch out. At the last one, the server is told, in the background: nobody waits for its answer.
func (l *Listener) unwatch(resource watchedResource) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watched[resource]--; l.watched[resource] > 0 {
		return
	}
	delete(l.watched, resource)
	if l.closed {
		return
	}
	for catalogue := range l.endpoints {
		for _, entry := range catalogue.snapshot().entries {
			if entry.ID == resource.serverID && entry.Server != nil {
				l.group.Go(func() { l.unsubscribe(entry, resource.uri) })
				return
			}
		}
	}
}

func (l *Listener) unsubscribe(entry Entry, uri string) {
	ctx, cancel := context.WithTimeout(l.ctx, unsubscribeTimeout)
	defer cancel()
	c := &call{endpoint: l.endpoint}
	_, _ = c.invoke(ctx, &entry, Request{ // a server that is gone has forgotten it anyway
		Method: "resources/unsubscribe", Params: mustJSON(map[string]string{"uri": uri}), Client: nobody{},
	})
}

// nobody is the Client of requests that no client has caused.
type nobody struct{}

func (nobody) Name() string                   { return "" }
func (nobody) Capabilities() json.RawMessage  { return nil }
func (nobody) Notify(string, json.RawMessage) {}
func (nobody) Request(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, wire.Errorf(CodeClientCannot, "no client has caused this request, so there is nobody to ask")
}
