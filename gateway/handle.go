package gateway

import (
	"strconv"
	"time"

	"go.uber.org/zap"
)

// handle acts on one frame, which came as one message or was assembled from chunks. An *Error ends the connection and
// tells the computer why.
func (s *session) handle(data []byte, assembled bool) error {
	var f inbound
	if err := decodeFrame(data, &f); err != nil {
		return err
	}
	switch f.Type {
	case "computer_response":
		if s.answer(&f) {
			return nil // it was asked for: free of charge
		}
	case "chunk_ack":
		if s.acknowledge(f.ID, f.Seq) {
			return nil
		}
	}
	if err := s.spend(); err != nil {
		return err
	}
	switch f.Type {
	case "ping":
		return s.pong(&f)
	case "pong":
		if t, err := strconv.ParseInt(string(f.T), 10, 64); err == nil {
			s.computer.pong(t)
		}
	case "serve":
		if s.computer.setServes(f.Types) {
			s.g.changed()
		}
	case "computer_request":
		return s.asks(&f)
	case "cancel":
		s.cancelled(f.ID)
	case "chunk":
		return s.chunk(&f, assembled)
	case "":
		return newError(CodeBadRequest, "a frame has no type")
	}
	// Anything else may be of a later version of the protocol, and is no reason to part.
	return nil
}

// answer passes a computer's answer on to who waits for it.
func (s *session) answer(f *inbound) bool {
	r := reply{payload: f.Payload}
	switch {
	case f.OK == nil:
		r = reply{err: newError(CodeBadRequest, "the computer's answer does not say whether it is ok")}
	case !*f.OK:
		r = reply{err: f.Error.toError()}
	case r.payload == nil:
		r.payload = []byte("null")
	}
	return s.computer.answer(f.ID, r)
}

func (s *session) pong(f *inbound) error {
	if len(f.T) == 0 || len(f.T) > maxIDLength {
		return newError(CodeBadRequest, "a ping's t must be a number")
	}
	return s.reply(appendPing(nil, "pong", string(f.T)))
}

func (s *session) chunk(f *inbound, assembled bool) error {
	if assembled {
		return newError(CodeBadRequest, "a chunked frame holds a chunk")
	}
	whole, err := s.assembler.add(f)
	if err != nil {
		return err
	}
	switch {
	case whole.unknown:
		return nil
	case !whole.complete:
		return s.reply(appendChunkAck(nil, f.ID, int(f.Seq)))
	}
	if whole.reject == "" {
		return s.handle(whole.frame, true)
	}
	e := newError(whole.reject, "the computer's frame is larger than the gateway takes (", strconv.Itoa(s.assembler.limit), " bytes)")
	if whole.reject == CodeBusy {
		e.Message = "the gateway is receiving too many large frames; try again"
	}
	switch whole.typ {
	case "computer_response":
		s.computer.answer(whole.id, reply{err: e})
	case "computer_request":
		return s.reply(appendErrorResponse(nil, cutText(whole.id, maxIDLength), e))
	}
	return nil
}

// spend charges the computer for a frame that answers nothing, and makes it wait when it sends too many: what it sends
// meanwhile stays in its socket, and costs the others nothing.
func (s *session) spend() error {
	d := s.budget.take(time.Now())
	if d == 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-s.stop:
		return errStopped
	}
}

// reply queues a small frame on the reader's behalf. It waits while too many are queued: a computer that does not read
// what it asks for is not read from either.
func (s *session) reply(frame []byte) error {
	c := s.computer
	for {
		c.mu.Lock()
		if s.ended || s.closing != nil {
			c.mu.Unlock()
			return errStopped
		}
		if len(s.control) < maxControl {
			s.control = append(s.control, frame)
			s.pump()
			c.mu.Unlock()
			return nil
		}
		if s.room == nil {
			s.room = make(chan struct{})
		}
		room := s.room
		c.mu.Unlock()
		select {
		case <-room:
		case <-s.stop:
		}
	}
}

// hear notes that a computer's programs are alive: every frame comes from them, never from the network layer.
func (c *computer) hear(now time.Time) {
	c.heard.Store(now.UnixNano())
	if c.silent.CompareAndSwap(true, false) {
		c.reg.log.Info("computer responds again", c.names()...)
		c.reg.changed()
	}
}

// names are the log fields that say which computer it is.
func (c *computer) names() []zap.Field {
	c.mu.Lock()
	defer c.mu.Unlock()
	return []zap.Field{zap.String("network", c.network), zap.String("computer", c.traposID)}
}
