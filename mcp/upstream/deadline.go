package upstream

import (
	"errors"
	"time"
)

// errExpired ends a call whose time limit has passed.
var errExpired = errors.New("the time limit has passed")

// deadlines end the calls of a session that take too long. There is one timer for all of them, set for the earliest: a
// timer for each call would be set and stopped thousands of times per second and wake the scheduler for nothing, since
// hardly any call takes its 300 s. session.mu guards it.
type deadlines struct {
	timer *time.Timer
	next  time.Time // when it fires; zero: it is not set
}

func (d *deadlines) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}

// prolong gives a call its whole time limit from now on. s.mu is held.
func (s *session) prolong(c *call) {
	if c.limit == forever {
		return
	}
	c.deadline = time.Now().Add(c.limit)
	s.expireAt(c.deadline)
}

// expireAt has expire called at a time, if it is not called earlier anyway. s.mu is held.
func (s *session) expireAt(at time.Time) {
	d := &s.deadlines
	switch {
	case !d.next.IsZero() && !at.Before(d.next):
		return
	case d.timer == nil:
		d.timer = time.AfterFunc(time.Until(at), s.expire)
	default:
		d.timer.Reset(time.Until(at))
	}
	d.next = at
}

// expire ends the calls whose time is up and waits for the next ones.
func (s *session) expire() {
	var expired []*call
	s.mu.Lock()
	now := time.Now()
	s.deadlines.next = time.Time{}
	for id, c := range s.calls {
		switch {
		case c.deadline.IsZero():
		case c.deadline.After(now):
			s.expireAt(c.deadline)
		default:
			delete(s.calls, id)
			expired = append(expired, c)
		}
	}
	s.mu.Unlock()
	for _, c := range expired {
		c.done <- outcome{err: errExpired}
	}
}
