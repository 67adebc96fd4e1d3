package gateway

import (
	"time"

	"go.uber.org/zap"
)

// watch makes sure that the heartbeat goroutine runs. One goroutine serves all computers: a timer each would cost more,
// and nothing here has to be exact.
func (g *Gateway) watch() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.watching || g.closed {
		return
	}
	g.watching = true
	g.running.Go(g.heartbeat) // the caller's session is counted, so that the count is not zero
}

// heartbeat pings the computers, and notices those that are silent, until there are none.
func (g *Gateway) heartbeat() {
	ticker := time.NewTicker(max(time.Millisecond, min(g.opts.Heartbeat, g.opts.Unresponsive, g.opts.Drop, g.opts.ReconnectGrace)/10))
	defer ticker.Stop()
	var list []*computer
	for {
		select {
		case <-g.done:
			return
		case <-ticker.C:
		}
		list = g.registry.all(list[:0])
		if len(list) == 0 && g.rest() {
			return
		}
		for _, c := range list {
			c.check(time.Now())
		}
		clear(list)
	}
}

// rest ends the heartbeat if there is still nobody to watch.
func (g *Gateway) rest() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.registry.mu.RLock()
	defer g.registry.mu.RUnlock()
	if len(g.registry.byKey) > 0 {
		return false
	}
	g.watching = false
	return true
}

// check does what is due for one computer.
func (c *computer) check(now time.Time) {
	silence := now.Sub(time.Unix(0, c.heard.Load()))
	c.mu.Lock()
	s := c.session
	if s == nil {
		c.mu.Unlock()
		c.reg.expire(c, now)
		return
	}
	if silence >= c.reg.opts.Drop {
		s.endLocked(closeTimeout, newError(CodeTimeout, "silent for ", c.reg.opts.Drop.String()))
		c.mu.Unlock()
		return
	}
	if !now.Before(c.nextPing) {
		c.nextPing = now.Add(c.reg.opts.Heartbeat)
		c.ping()
	}
	stalled := s.stalledStream(now)
	c.mu.Unlock()
	if stalled != nil {
		stalled.done <- reply{err: newError(CodeTimeout, "the computer stopped taking the request's chunks")}
	}
	if silence >= c.reg.opts.Unresponsive && c.silent.CompareAndSwap(false, true) {
		c.reg.log.Warn("computer unresponsive", append(c.names(), zap.Duration("silent", silence.Round(time.Second)))...)
		c.reg.changed()
	}
}

// stalledStream gives up a chunked frame that its receiver has stopped acknowledging, so that it does not hold up what is
// queued behind it. It returns the call to be failed for that, if the frame was one of ours. computer.mu is held.
func (s *session) stalledStream(now time.Time) *call {
	o := s.active
	if o == nil || now.Sub(o.moved) < s.g.opts.Unresponsive {
		return nil
	}
	s.active = nil
	s.control = append(s.control, appendCancel(nil, o.stream))
	s.pump()
	cl := o.call
	if cl == nil || s.computer.calls[cl.id] != cl || cl.abandoned {
		return nil
	}
	cl.abandoned = true
	s.computer.sendBarrier()
	return cl
}
