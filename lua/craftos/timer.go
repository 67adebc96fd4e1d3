package craftos

import (
	"math"
	"time"
)

// tick is the resolution of a computer's timers: one step of the game.
const tick = 50 * time.Millisecond

// maxTimers bounds the timers and alarms that run at once on one computer.
const maxTimers = 4096

type timer struct {
	event string // "timer" or "alarm"
	at    time.Time
}

// timers are those that have not fired. They belong to the machine's event loop and to the Lua that it runs, which
// never run at once.
type timers struct {
	next   int
	active map[int]timer
}

// start adds a timer and returns its identifier; ok is false when there are too many.
func (t *timers) start(event string, after time.Duration, now time.Time) (id int, ok bool) {
	if len(t.active) >= maxTimers {
		return 0, false
	}
	if t.active == nil {
		t.active = make(map[int]timer)
	}
	id = t.next
	t.next++
	t.active[id] = timer{event: event, at: now.Add(after)}
	return id, true
}

func (t *timers) cancel(id int) { delete(t.active, id) }

// fire queues the events of the timers that are due, oldest first, and returns when the next one is; ok is false
// when there is none.
func (t *timers) fire(now time.Time, q *eventQueue) (next time.Time, ok bool) {
	for {
		id, first, found := t.earliest()
		if !found {
			return time.Time{}, false
		}
		if first.at.After(now) {
			return first.at, true
		}
		delete(t.active, id)
		q.push(first.event, id)
	}
}

func (t *timers) earliest() (id int, first timer, found bool) {
	for i, candidate := range t.active {
		if !found || candidate.at.Before(first.at) || (candidate.at.Equal(first.at) && i < id) {
			id, first, found = i, candidate, true
		}
	}
	return id, first, found
}

// ticks rounds seconds up to whole ticks, at least one.
func ticks(seconds float64) time.Duration {
	n := math.Ceil(seconds/tick.Seconds() - 1e-9)
	if math.IsNaN(n) || n < 1 {
		n = 1
	}
	const longest = 100 * 365 * 24 * time.Hour
	if n > float64(longest/tick) {
		return longest
	}
	return time.Duration(n) * tick
}
