package craftos

import "sync"

// event is one entry of a computer's event queue. Its arguments are turned into Lua values when it is delivered.
type event struct {
	name string
	args []any
}

// eventQueue holds the events that wait for the computer. What comes beyond its limit is dropped without a word, as
// CC:Tweaked does. Its methods may be called from any goroutine.
type eventQueue struct {
	limit int
	wake  chan struct{} // one slot: something was pushed

	mu      sync.Mutex
	pending []event // guarded by mu
	dropped int     // guarded by mu
}

func newEventQueue(limit int) *eventQueue {
	return &eventQueue{limit: limit, wake: make(chan struct{}, 1)}
}

func (q *eventQueue) push(name string, args ...any) {
	q.mu.Lock()
	full := len(q.pending) >= q.limit
	if full {
		q.dropped++
	} else {
		q.pending = append(q.pending, event{name: name, args: args})
	}
	q.mu.Unlock()
	if !full {
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
}

func (q *eventQueue) pop() (event, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.pending) == 0 {
		return event{}, false
	}
	e := q.pending[0]
	q.pending[0] = event{}
	q.pending = q.pending[1:]
	if len(q.pending) == 0 {
		q.pending = nil
	}
	return e, true
}
