package mcp

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/traposd/traposd/mcp/wire"
)

const (
	// announceDelay is how long changes of a catalogue are gathered before clients hear of them: an edit replaces several
	// servers in a row, and each notification costs every client a request.
	announceDelay = 15 * time.Millisecond

	// setLevelTimeout bounds the wait for the servers when a client sets its log level.
	setLevelTimeout = 5 * time.Second
)

// announce tells clients about lists that have changed, until the listener closes.
func (e *endpoint) announce(changes <-chan struct{}) {
	timer := time.NewTimer(announceDelay)
	timer.Stop()
	for {
		select {
		case <-e.l.ctx.Done():
			return
		case <-e.dropped:
			return
		case <-changes:
		}
		timer.Reset(announceDelay)
		select {
		case <-e.l.ctx.Done():
			return
		case <-timer.C:
		}
		now := e.catalogue.snapshot()
		sessions, listens := e.clients()
		for _, s := range sessions {
			seen := now.seenBy(s.client.product, s.mode).sums
			s.mu.Lock()
			s.tell(seen)
			s.mu.Unlock()
		}
		for _, li := range listens {
			seen := now.seenBy(li.client.product, li.mode).sums
			li.mu.Lock()
			li.tell(seen)
			li.mu.Unlock()
		}
	}
}

// clients gives the sessions and streams on this endpoint.
func (e *endpoint) clients() (sessions []*session, listens []*listen) {
	e.l.mu.Lock()
	defer e.l.mu.Unlock()
	for _, s := range e.l.sessions {
		if s.endpoint == e {
			sessions = append(sessions, s)
		}
	}
	for li := range e.l.listens {
		if li.endpoint == e {
			listens = append(listens, li)
		}
	}
	return sessions, listens
}

// Broadcast passes a server's notification that belongs to no request on to the clients that may see that server:
// `notifications/resources/updated` to those that subscribed, `notifications/message` to those whose log level admits it,
// any other to every session. Notifications about changed lists are not passed on: the catalogue makes its own. It does not
// block; a client whose stream is full, or that has none, misses it.
func (l *Listener) Broadcast(serverID, method string, params json.RawMessage) {
	switch method {
	case changedMethods[kindTools], changedMethods[kindPrompts], changedMethods[kindResources],
		"notifications/progress", "notifications/cancelled":
		return
	}
	l.mu.Lock()
	endpoints := make([]*endpoint, 0, len(l.endpoints))
	for _, e := range l.endpoints {
		endpoints = append(endpoints, e)
	}
	l.mu.Unlock()
	for _, e := range endpoints {
		snapshot := e.catalogue.snapshot()
		if !snapshot.ids[serverID] {
			continue
		}
		if method == "notifications/resources/updated" {
			e.updated(snapshot, serverID, params)
			continue
		}
		message := (&wire.Message{Method: method, Params: params}).Append(nil)
		sessions, _ := e.clients()
		for _, s := range sessions {
			s.mu.Lock()
			if method != "notifications/message" || s.level.admits(params) {
				s.push(message)
			}
			s.mu.Unlock()
		}
	}
}

// updated tells those that watch a resource.
func (e *endpoint) updated(snapshot *snapshot, serverID string, params json.RawMessage) {
	raw, _ := wire.Get(params, "uri")
	own, ok := wire.String(raw)
	if !ok {
		return
	}
	exposed := snapshot.exposedURI(serverID, own)
	if exposed != own {
		params = wire.Set(params, "uri", wire.Quote(exposed))
	}
	message := (&wire.Message{Method: "notifications/resources/updated", Params: params}).Append(nil)
	sessions, listens := e.clients()
	for _, s := range sessions {
		s.mu.Lock()
		if resource, ok := s.subscriptions[exposed]; ok && resource.serverID == serverID {
			s.push(message)
		}
		s.mu.Unlock()
	}
	for _, li := range listens {
		if resource, ok := li.watching[exposed]; ok && resource.serverID == serverID {
			li.out.put(li.message("notifications/resources/updated", params))
		}
	}
}

// setLevel answers `logging/setLevel`: the session's own messages are filtered here, and the servers, which all sessions
// share, are set to the most talkative level that any of them wants.
func (c *call) setLevel(ctx context.Context, snapshot *snapshot) ([][]byte, *wire.Error) {
	raw, _ := wire.Get(c.message.Params, "level")
	level, ok := parseLevel(raw)
	if !ok {
		return nil, wire.Errorf(CodeInvalidParams, "logging/setLevel needs one of the levels debug to emergency")
	}
	if c.session == nil {
		return emptyResult, nil
	}
	c.session.mu.Lock()
	c.session.level, c.session.levelSet = level, true
	c.session.mu.Unlock()
	wanted, _ := c.endpoint.l.LogLevel()
	ctx, cancel := context.WithTimeout(ctx, setLevelTimeout)
	defer cancel()
	params := mustJSON(map[string]string{"level": wanted})
	var group sync.WaitGroup
	for i := range snapshot.entries {
		entry := &snapshot.entries[i]
		if entry.Server == nil || !parseServerCapabilities(entry.Capabilities).logging {
			continue
		}
		group.Go(func() {
			// A server that cannot be set keeps its level; what it sends is filtered here all the same.
			_, _ = c.invoke(ctx, entry, Request{Method: "logging/setLevel", Params: params, Client: c})
		})
	}
	group.Wait()
	return emptyResult, nil
}

// LogLevel is the level that servers are to be set to: the most talkative one that a session wants. ok is false if no session
// has set any, and servers send what they see fit. A server that comes up when it is set has to be told.
func (l *Listener) LogLevel() (level string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lowest := levelOff
	for _, s := range l.sessions {
		s.mu.Lock()
		lowest, ok = min(lowest, s.level), ok || s.levelSet
		s.mu.Unlock()
	}
	if !ok {
		return "", false
	}
	return logLevels[lowest], true
}
