package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/traposd/traposd/mcp/wire"
)

// maxListens bounds the open `subscriptions/listen` streams of all clients.
const maxListens = 4096

// listen is one `subscriptions/listen` stream of a 2026-07-28 client.
type listen struct {
	endpoint *endpoint
	id       json.RawMessage // of the request, which names the subscription
	client   clientInfo
	mode     mode
	since    time.Time
	wants    [kinds]bool
	watching map[string]watchedResource // by exposed URI
	out      *outbox

	mu   sync.Mutex
	told sums // guarded by mu
}

// serveListen answers `subscriptions/listen`: an acknowledgement, then the notifications that were asked for, until the
// client closes the stream or the service stops (2026-07-28, basic, "Subscriptions").
func (e *endpoint) serveListen(ctx context.Context, w http.ResponseWriter, c *call) {
	filter, ok := wire.Get(c.message.Params, "notifications")
	if !ok || wire.Kind(filter) != '{' {
		writeError(w, http.StatusBadRequest, c.message.ID, wire.Errorf(CodeInvalidParams, `subscriptions/listen needs an object "notifications"`))
		return
	}
	client := clientInfo{name: c.client.name, product: c.client.product}
	li := &listen{endpoint: e, id: c.message.ID, client: client, mode: c.mode, since: time.Now(), out: newOutbox()}
	snapshot := c.seen()
	li.told = snapshot.sums
	agreed := li.agree(ctx, c, snapshot, filter)
	defer li.release()
	li.out.put(li.message("notifications/subscriptions/acknowledged",
		append(append([]byte(`{"notifications":`), agreed...), '}')))

	if !e.l.addListen(li) {
		writeError(w, http.StatusServiceUnavailable, c.message.ID, wire.Errorf(CodeBusy, "%d clients listen, which is the limit", maxListens))
		return
	}
	defer e.l.removeListen(li)
	li.mu.Lock()
	li.tell(c.seen().sums) // of what has changed since, nobody has told this stream
	li.mu.Unlock()
	if string(agreed) == `{}` {
		li.out.finish(li.result()) // nothing will ever come
	}
	// The client's end cuts the stream; at ours, the result is still to be written.
	clientGone, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), errClosing) {
			li.out.finish(li.result())
		} else {
			cancel()
		}
	})()
	pump(clientGone, w, li.out, e.l.options.Heartbeat)
}

// agree fills in what is asked for and can be had, and gives it as the filter to acknowledge.
func (li *listen) agree(ctx context.Context, c *call, snapshot *snapshot, filter json.RawMessage) json.RawMessage {
	declared := li.endpoint.declared(snapshot)
	agreed := json.RawMessage(`{}`)
	for _, each := range []struct {
		key  string
		kind kind
		can  bool
	}{
		{"toolsListChanged", kindTools, true},
		{"promptsListChanged", kindPrompts, declared.prompts},
		{"resourcesListChanged", kindResources, declared.resources},
	} {
		if value, _ := wire.Get(filter, each.key); each.can && string(value) == "true" {
			li.wants[each.kind] = true
			agreed = wire.Set(agreed, each.key, value)
		}
	}
	uris, _ := wire.Get(filter, "resourceSubscriptions")
	if !declared.subscribe || wire.Kind(uris) != '[' {
		return agreed
	}
	li.watching = map[string]watchedResource{}
	var accepted []string
	for element := range wire.Elements(uris) {
		uri, ok := wire.String(element)
		if !ok || len(li.watching) == maxSubscriptions {
			continue
		}
		if _, twice := li.watching[uri]; twice {
			continue
		}
		if resource, err := c.watch(ctx, snapshot, uri); err == nil {
			li.watching[uri] = resource
			accepted = append(accepted, uri)
		}
	}
	if len(accepted) > 0 {
		agreed = wire.Set(agreed, "resourceSubscriptions", mustJSON(accepted))
	}
	return agreed
}

func (li *listen) release() {
	for _, resource := range li.watching {
		li.endpoint.l.unwatch(resource)
	}
}

// message is a notification that names the subscription; params is an object or nil.
func (li *listen) message(method string, params json.RawMessage) []byte {
	meta, _ := wire.Get(params, "_meta")
	params = wire.Set(params, "_meta", wire.Set(meta, metaSubscriptionID, li.id))
	return (&wire.Message{Method: method, Params: params}).Append(nil)
}

// result ends the subscription from our side.
func (li *listen) result() []byte {
	result := append([]byte(`{"resultType":"complete","_meta":{"`+metaSubscriptionID+`":`), li.id...)
	return wire.Response(li.id, append(result, `}}`...)).Append(nil)
}

// tell notifies the client of every list that it wants to know of and that differs from what it was last told. li.mu is
// held.
func (li *listen) tell(now sums) {
	for k, sum := range now {
		if li.wants[k] && li.told[k] != sum && li.out.put(li.message(changedMethods[k], nil)) {
			li.told[k] = sum
		}
	}
}

func (li *listen) info() SessionInfo {
	return SessionInfo{Client: li.client.name, Revision: Revision20260728, Since: li.since, LastUsed: li.since, Streams: 1}
}

func (l *Listener) addListen(li *listen) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.listens) >= maxListens {
		return false
	}
	l.listens[li] = struct{}{}
	return true
}

func (l *Listener) removeListen(li *listen) {
	l.mu.Lock()
	delete(l.listens, li)
	l.mu.Unlock()
}
