package gateway

import (
	"slices"
	"strconv"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/zap"
)

// displaced is what an attach has put out: it is dealt with after the locks are released.
type displaced struct {
	session *session // to be closed
	calls   []*call  // to be failed
}

// attach makes s the connection of the computer that id describes.
//
//   - The same boot, under whatever label: a reconnect. The new connection takes over the calls.
//   - Another boot of the same network and traposId: a reboot, of which we may not have heard (a killed host leaves a
//     half-open socket). The new one replaces the old one at once, whose calls fail as disconnected.
//   - A boot that was replaced so, comes back, and finds its successor alive: two computers claim one identity, since a
//     reboot forgets its boot. The one that is connected stays, and the other is refused as duplicate: otherwise the two
//     would push each other out for ever.
func (r *Registry) attach(s *session, id *identity) *Error {
	out, refusal := r.place(s, id, time.Now())
	if refusal != nil {
		return refusal
	}
	s.g.watch()
	for _, d := range out {
		d.clear(r.log)
	}
	r.log.Info("computer connected", append(s.computer.names(), zap.String("remote", s.remote), zap.String("agent", id.agent))...)
	r.changed()
	return nil
}

// place is what attach does under the locks.
func (r *Registry) place(s *session, id *identity, now time.Time) ([]displaced, *Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := key{id.network, id.traposID}
	holder, c := r.byKey[k], r.sameBoot(id)
	switch {
	case s.g.isClosing(): // under mu: Close sees every computer that got past here
		return nil, goingAway
	case c == nil && holder != nil && holder.supersedes(id.boot):
		return nil, newError(CodeDuplicate, "another computer is connected as ", strconv.Quote(id.traposID), " of network ",
			id.network, " from ", holder.remoteAddress(), "; give one of the two worlds another network")
	case c == nil && holder == nil && len(r.byKey) >= r.opts.MaxComputers:
		return nil, newError(CodeBusy, "the gateway has its ", strconv.Itoa(r.opts.MaxComputers), " computers; disconnect some of them")
	}
	if c != nil {
		r.remove(c)
	} else {
		c = &computer{reg: r}
	}
	var out []displaced
	if holder != nil && holder != c {
		r.remove(holder)
		out = append(out, holder.supersede(c, id.boot))
	}
	out = append(out, displaced{session: c.adopt(s, id, now)})
	r.byKey[k] = c
	r.byID[id.computerID] = append(r.byID[id.computerID], c)
	return out, nil
}

// sameBoot finds the computer that id is a reconnect of. mu is held.
func (r *Registry) sameBoot(id *identity) *computer {
	if id.boot == "" {
		return nil
	}
	for _, c := range r.byID[id.computerID] {
		if c.network == id.network && c.boot == id.boot {
			return c
		}
	}
	return nil
}

// remove takes c out of the tables. mu is held.
func (r *Registry) remove(c *computer) {
	delete(r.byKey, key{c.network, c.traposID})
	list := r.byID[c.computerID]
	if i := slices.Index(list, c); i >= 0 {
		list = slices.Delete(list, i, i+1)
	}
	if len(list) == 0 {
		delete(r.byID, c.computerID)
	} else {
		r.byID[c.computerID] = list
	}
}

// supersedes reports whether c replaced that boot, and is alive itself.
func (c *computer) supersedes(boot string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session != nil && !c.silent.Load() && slices.Contains(c.superseded, boot)
}

func (c *computer) remoteAddress() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		return "nowhere"
	}
	return c.session.remote
}

// supersede hands the identity of c to its successor.
func (c *computer) supersede(next *computer, boot string) displaced {
	d := displaced{calls: c.takeCalls()}
	c.mu.Lock()
	defer c.mu.Unlock()
	d.session, c.session = c.session, nil // takeCalls has left nothing to carry over
	next.superseded = slices.Clone(c.superseded)
	if d.session != nil && c.boot != "" {
		next.superseded = append(next.superseded, c.boot)
	}
	next.superseded = slices.DeleteFunc(next.superseded, func(b string) bool { return b == boot })
	if extra := len(next.superseded) - maxSuperseded; extra > 0 {
		next.superseded = slices.Delete(next.superseded, 0, extra)
	}
	return d
}

func (d displaced) clear(log *zap.Logger) {
	failCalls(d.calls, newError(CodeDisconnected, "the computer rebooted before it answered"))
	if d.session == nil {
		return
	}
	d.session.end(closeDuplicate, newError(CodeDuplicate, "replaced by a newer connection of the same computer"))
	log.Info("computer replaced by a newer connection", append(d.session.computer.names(),
		zap.String("remote", d.session.remote), zap.String("code", string(CodeDuplicate)))...)
}

// detach is told that s can read no more, and why: err is what its reader met, reason what we ended it for.
func (r *Registry) detach(s *session, err error, reason *Error) {
	c := s.computer
	r.mu.Lock()
	c.mu.Lock()
	if c.session != s {
		c.mu.Unlock()
		r.mu.Unlock()
		return // replaced, and reported as such
	}
	c.leave()
	// Answers may still come over a new connection of the same boot, unless the program closed this one on purpose.
	keep := len(c.calls)+len(c.queue) > 0 && !s.g.isClosing() && (reason != nil || isLost(err))
	if keep {
		c.awayUntil = time.Now().Add(r.opts.ReconnectGrace)
	} else {
		r.remove(c)
	}
	fields := []zap.Field{zap.String("network", c.network), zap.String("computer", c.traposID), zap.String("remote", s.remote)}
	c.mu.Unlock()
	r.mu.Unlock()
	if !keep {
		failCalls(c.takeCalls(), newError(CodeDisconnected, "the computer disconnected before it answered"))
	}
	switch {
	case reason != nil:
		fields = append(fields, zap.String("code", string(reason.Code)), zap.String("err", reason.Message))
	default:
		fields = append(fields, zap.String("code", string(CodeDisconnected)), zap.String("err", plainReason(err)))
	}
	r.log.Info("computer disconnected", fields...)
	r.changed()
}

// expire drops a computer that has been away too long.
func (r *Registry) expire(c *computer, now time.Time) {
	r.mu.Lock()
	c.mu.Lock()
	over := c.session == nil && !c.gone && !c.awayUntil.IsZero() && now.After(c.awayUntil)
	if over {
		r.remove(c)
	}
	c.mu.Unlock()
	r.mu.Unlock()
	if over {
		failCalls(c.takeCalls(), newError(CodeDisconnected, "the computer disconnected before it answered, and did not come back"))
	}
}

// goingAway is the reason that every computer is given when the gateway stops.
var goingAway = newError(CodeDisconnected, "the gateway stops")

const closeGoingAway = websocket.CloseGoingAway
