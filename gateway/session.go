package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/zap"
)

// session is one connection. Its reader goroutine, run, lives as long as it does; a writer goroutine lives while there is
// something to write.
type session struct {
	g      *Gateway
	conn   *websocket.Conn
	batch  *batchConn // below conn
	remote string     // address and port, for people
	host   string     // address, for the throttle

	stop     chan struct{} // closed when the session must end
	finished chan struct{} // closed when the close frame is written, or cannot be

	proof    string    // that we know the secret, for hello_ok; "" when the computer did not ask for it. Set by greet
	computer *computer // set by adopt, before the reader goes on; never changes after

	// Only the reader uses these.
	budget    budget
	assembler assembler

	// Guarded by computer.mu.
	control   [][]byte                      // small frames, which go before everything else
	responses []*outgoing                   // answers to the computer's requests
	active    *outgoing                     // the chunked frame under way
	asked     map[string]context.CancelFunc // the computer's requests that have no answer yet
	writing   bool                          // the writer goroutine runs
	ended     bool                          // the reader is gone: nothing is written any more
	closing   *Error                        // why the session must end
	closeWith int                           // the close code for it
	closeSent bool                          // the writer took it up
	room      chan struct{}                 // the reader waits on it for control to drain
}

var framePool = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooled keeps rare large buffers from staying.
const maxPooled = 128 << 10

func putBuffer(b *bytes.Buffer) {
	if b.Cap() <= maxPooled {
		b.Reset()
		framePool.Put(b)
	}
}

// run is the life of a connection, from its upgrade on.
func (s *session) run() {
	defer s.g.forget(s)
	defer func() { _ = s.conn.Close() }()
	id, refusal := s.greet()
	if refusal == nil {
		refusal = s.g.registry.attach(s, id)
	}
	if refusal != nil {
		s.refuse(id, refusal)
		s.g.pending.Add(-1)
		return
	}
	s.g.pending.Add(-1)
	err := s.receive()
	s.finish(err)
}

// greet reads and judges the hello, or the two of them when the computer asks for a challenge.
func (s *session) greet() (*identity, *Error) {
	h, id, refusal := s.readHello()
	if refusal != nil {
		return id, refusal
	}
	challenge := ""
	if h.wantsChallenge() {
		challenge = newNonce()
		if err := s.say(appendChallenge(nil, challenge)); err != nil {
			return nil, lost(err)
		}
		nonce := h.Nonce
		if h, id, refusal = s.readHello(); refusal != nil {
			return id, refusal
		}
		if h.Nonce != nonce || !h.wantsChallenge() {
			return id, newError(CodeBadRequest, "the hello after a challenge must have the same nonce, and a proof in place of the password")
		}
	}
	if !s.g.throttle.wait(s.host, s.g.done) {
		return id, newError(CodeBusy, "too many refused computers from this address; try again in a minute")
	}
	if refusal := s.judge(h, id, challenge); refusal != nil {
		return id, refusal
	}
	_ = s.conn.SetReadDeadline(time.Time{})
	return id, nil
}

// judge says why a computer may not come in, if it may not. challenge is empty when there was none.
func (s *session) judge(h *hello, id *identity, challenge string) *Error {
	var ok bool
	switch {
	case challenge != "":
		s.proof, ok = s.g.proven(h, id, challenge)
	case s.g.opts.RequireChallenge:
		return newError(CodeUnauthorized, "this gateway takes no password in clear text; install the computer's programs again from it")
	default:
		ok = s.g.authorized(h)
	}
	if !ok {
		return newError(CodeUnauthorized, "wrong password; set the same one on the computer as on the gateway")
	}
	return nil
}

// readHello reads one hello, within the time for it.
func (s *session) readHello() (*hello, *identity, *Error) {
	_ = s.conn.SetReadDeadline(time.Now().Add(s.g.opts.HelloTimeout))
	if s.g.isClosing() { // Close may have set its deadline just before ours
		return nil, nil, goingAway
	}
	buf := framePool.Get().(*bytes.Buffer)
	defer putBuffer(buf)
	if err := s.readFrame(buf); err != nil {
		var e *Error
		switch {
		case errors.As(err, &e):
			return nil, nil, e
		case isTimeout(err):
			return nil, nil, newError(CodeTimeout, "no hello within ", s.g.opts.HelloTimeout.String())
		}
		return nil, nil, lost(err)
	}
	h, id, refusal := decodeHello(buf.Bytes())
	clear(buf.Bytes()) // the password was in it
	return h, id, refusal
}

func lost(err error) *Error {
	return &Error{Code: CodeDisconnected, Message: "the connection ended before its hello", cause: err}
}

// say writes a frame before there is a writer.
func (s *session) say(frame []byte) error {
	if err := s.writeText(frame); err != nil {
		return err
	}
	return s.batch.flush(s.g.opts.HelloTimeout)
}

func (s *session) writeText(frame []byte) error {
	s.g.counters.sent(len(frame))
	return s.conn.WriteMessage(websocket.TextMessage, frame)
}

// refuse tells a computer why it cannot come in.
func (s *session) refuse(id *identity, e *Error) {
	switch {
	case s.g.isClosing():
		s.writeClose(websocket.CloseGoingAway, goingAway.Message)
		s.linger()
		return
	case e.Code == CodeDisconnected:
		return // it went before it said anything: a port scan, or a player who left
	}
	s.g.counters.refuse(e.Code)
	_ = s.writeText(appendHelloError(nil, e))
	s.writeClose(closeCodeOf(e.Code), e.Message)
	if repeats, loud := s.g.throttle.failed(s.host, e.Code, time.Now()); loud {
		fields := []zap.Field{zap.String("remote", s.remote), zap.String("code", string(e.Code)), zap.String("err", e.Message)}
		if id != nil {
			fields = append(fields, zap.String("network", id.network), zap.String("computer", id.traposID))
		}
		if repeats > 0 {
			fields = append(fields, zap.Int("repeats", repeats))
		}
		s.g.log.Warn("computer refused", fields...)
	}
	s.linger()
}

// receive reads frames until the connection ends, and says why it did.
func (s *session) receive() error {
	for {
		err := s.receiveOne()
		if err != nil {
			return err
		}
	}
}

func (s *session) receiveOne() error {
	kind, r, err := s.conn.NextReader()
	if err != nil {
		return err
	}
	buf := framePool.Get().(*bytes.Buffer)
	defer putBuffer(buf)
	if err := s.fill(buf, kind, r); err != nil {
		return err
	}
	select {
	case <-s.stop:
		return errStopped // what comes now is not ours any more
	default:
	}
	s.computer.hear(time.Now())
	if err := s.handle(buf.Bytes(), false); err != nil {
		return err
	}
	return nil
}

var errStopped = errors.New("the session was ended")

func (s *session) readFrame(buf *bytes.Buffer) error {
	kind, r, err := s.conn.NextReader()
	if err != nil {
		return err
	}
	return s.fill(buf, kind, r)
}

// fill reads one message. The limit is ours and not the library's, which would close with 1009 and no reason.
func (s *session) fill(buf *bytes.Buffer, kind int, r io.Reader) error {
	if kind != websocket.TextMessage {
		return newError(CodeBadRequest, "binary messages are not part of the protocol")
	}
	limit := s.g.opts.MaxFrameBytes
	n, err := buf.ReadFrom(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return err
	}
	s.g.counters.received(n)
	if n > int64(limit) {
		return newError(CodeTooLarge, fmt.Sprintf("a frame is larger than %d bytes; send it in chunks", limit))
	}
	return nil
}

// end makes the session close with a code and a reason. It does not wait. computer.mu is not held.
func (s *session) end(code int, reason *Error) {
	c := s.computer
	c.mu.Lock()
	s.endLocked(code, reason)
	c.mu.Unlock()
}

func (s *session) endLocked(code int, reason *Error) {
	if s.closing != nil || s.ended {
		return
	}
	s.closing, s.closeWith = reason, code
	close(s.stop)
	// A writer that is stuck fails at this deadline; a reader that waits for a peer that is gone, too.
	deadline := time.Now().Add(closeGrace)
	_ = s.batch.Conn.SetWriteDeadline(deadline)
	_ = s.batch.SetReadDeadline(deadline)
	s.pump()
}

// finish takes a session that can read no more out of the registry and closes its connection.
func (s *session) finish(err error) {
	var e *Error
	if errors.As(err, &e) {
		s.end(closeCodeOf(e.Code), e)
	}
	c := s.computer
	c.mu.Lock()
	reason, cancels := s.closing, s.asked
	s.asked = nil
	c.mu.Unlock()
	for _, cancel := range cancels {
		cancel()
	}
	s.assembler.close()
	s.g.registry.detach(s, err, reason)
	var closed *websocket.CloseError
	if errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure {
		s.end(closed.Code, newError(CodeDisconnected)) // RFC 6455 section 5.5.1: a close frame is answered with one
	}
	s.goodbye()
}

// goodbye waits, not for long, until the writer has sent the close frame, if there is to be one.
func (s *session) goodbye() {
	c := s.computer
	c.mu.Lock()
	closing := s.closing != nil
	if !closing {
		s.ended = true
	}
	c.mu.Unlock()
	if !closing {
		return // the connection is gone already
	}
	timer := time.NewTimer(closeGrace)
	defer timer.Stop()
	select {
	case <-s.finished:
		s.linger()
	case <-timer.C:
	}
	c.mu.Lock()
	s.ended = true
	c.mu.Unlock()
}

// writeClose sends a close frame and ends our direction of the connection.
func (s *session) writeClose(code int, reason string) {
	message := websocket.FormatCloseMessage(code, cutText(reason, maxCloseReason))
	_ = s.conn.WriteControl(websocket.CloseMessage, message, time.Now().Add(closeGrace))
	_ = s.batch.flush(closeGrace)
	_ = s.batch.CloseWrite()
}

// linger reads what the peer still sends and throws it away: closing a socket with unread bytes resets it, and the
// reset would overtake the close frame that says why.
func (s *session) linger() {
	_ = s.batch.SetReadDeadline(time.Now().Add(closeGrace))
	_, _ = io.Copy(io.Discard, io.LimitReader(s.batch, closeDrainBytes))
}

// isLost reports whether a read error is the end of a connection without a word, after which the same boot may
// come back. A close frame is a word: the program on the computer stopped.
func isLost(err error) bool {
	var closed *websocket.CloseError
	if errors.As(err, &closed) {
		return closed.Code == websocket.CloseAbnormalClosure
	}
	return err != nil
}

// plainReason describes a read error without the addresses that net errors carry.
func plainReason(err error) string {
	text := cleanText(err.Error(), maxErrorText)
	if _, rest, ok := strings.Cut(text, "->"); ok {
		if _, reason, ok := strings.Cut(rest, ": "); ok {
			return reason
		}
	}
	return text
}

// isTimeout reports whether a read met its deadline. The WebSocket library hides the error itself.
func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}
