package craftos

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
)

const (
	// maxUnsent is how many messages one socket may have that the network has not taken.
	maxUnsent = 512
	// hangUpGrace is how long what was sent before a close or a reboot may take to leave.
	hangUpGrace = time.Second
	// websocketGUID is RFC 6455's.
	websocketGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
)

// socket is one WebSocket of a computer. One goroutine connects and reads, another writes.
type socket struct {
	net  *network
	url  string
	out  chan frame
	quit chan struct{} // closed by hangUp
	once sync.Once

	mu     sync.Mutex
	conn   net.Conn // guarded by mu: nil until connected
	closed bool     // guarded by mu
}

// websocket is the native http.websocket(url, headers, timeout): true once the connection is being made, or false and
// why not.
func (n *network) websocket(l *lua.LState) int {
	refuse := func(reason string) int {
		l.Push(lua.LFalse)
		l.Push(lua.LString(reason))
		return 2
	}
	address := checkString(l, 1)
	headers := headerTable(l, 2)
	timeout := defaultTimeout
	if l.Get(3) != lua.LNil {
		timeout = timeoutOf(checkFinite(l, 3))
	}
	if n.machine.computer.opts.DisableWebsockets {
		throw(l, "Websocket connections are disabled")
	}
	u, err := parseURL(address, "ws", "wss")
	if err != nil {
		return refuse(err.Error())
	}
	s := &socket{net: n, url: address, out: make(chan frame, maxUnsent), quit: make(chan struct{})}
	n.mu.Lock()
	full := len(n.sockets) >= maxWebsockets
	if !full {
		n.sockets[s] = true
	}
	n.mu.Unlock()
	if full {
		throw(l, "Too many websockets already open")
	}
	n.start(func() { s.run(u, headers, timeout) })
	l.Push(lua.LTrue)
	return 1
}

func headerTable(l *lua.LState, n int) http.Header {
	headers := http.Header{}
	t, ok := l.Get(n).(*lua.LTable)
	if !ok {
		return headers
	}
	t.ForEach(func(key, value lua.LValue) {
		name, isName := key.(lua.LString)
		text := lua.LVAsString(value)
		if isName && !strings.ContainsAny(string(name)+text, "\r\n\x00") {
			headers.Set(string(name), text)
		}
	})
	return headers
}

// run connects, reads until the end, and reports each event.
func (s *socket) run(u *url.URL, headers http.Header, timeout time.Duration) {
	defer s.forget()
	q := s.net.machine.queue
	ctx, cancel := context.WithTimeout(s.net.machine.ctx, timeout)
	conn, reader, err := s.connect(ctx, u, headers)
	cancel()
	if err != nil {
		q.push("websocket_failure", s.url, friendly(err).Error())
		return
	}
	if !s.adopt(conn) {
		_ = conn.Close()
		return
	}
	var writer sync.WaitGroup
	writer.Go(func() { s.write(conn) })
	q.push("websocket_success", s.url, maker(s.handle))
	s.read(reader)
	s.hangUp()
	writer.Wait()
}

// adopt keeps the connection, unless the socket was closed while it was being made.
func (s *socket) adopt(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.quit:
		return false
	default:
	}
	s.conn = conn
	return true
}

func (s *socket) forget() {
	s.net.mu.Lock()
	delete(s.net.sockets, s)
	s.net.mu.Unlock()
}

// hangUp closes the connection, without a close frame, after what was sent before has left.
func (s *socket) hangUp() {
	s.once.Do(func() {
		s.mu.Lock()
		s.closed = true
		close(s.quit)
		conn := s.conn
		s.mu.Unlock()
		if conn != nil {
			_ = conn.SetDeadline(time.Now().Add(hangUpGrace))
		}
	})
}

func (s *socket) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *socket) write(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	for {
		select {
		case f := <-s.out:
			if _, err := conn.Write(f.encode()); err != nil {
				return
			}
		case <-s.quit:
			for {
				select {
				case f := <-s.out:
					if _, err := conn.Write(f.encode()); err != nil {
						return
					}
				default:
					return
				}
			}
		}
	}
}

// read delivers frames until the connection ends. Continuation frames are dropped: CC:Tweaked does not aggregate.
func (s *socket) read(r *bufio.Reader) {
	q := s.net.machine.queue
	for {
		f, err := readFrame(r, s.net.machine.computer.opts.MaxMessage)
		if s.isClosed() {
			return // our own close gives no event
		}
		if err != nil {
			reason := errCouldNot
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				reason = errConnectionGone
			}
			q.push("websocket_closed", s.url, reason.Error(), nil)
			return
		}
		switch f.opcode {
		case opText, opBinary:
			q.push("websocket_message", s.url, f.payload, f.opcode == opBinary)
		case opPing:
			s.queue(frame{opcode: opPong, payload: f.payload})
		case opClose:
			s.queue(frame{opcode: opClose, payload: f.payload})
			reason, code := closeReason(f.payload)
			q.push("websocket_closed", s.url, reason, code)
			return
		}
	}
}

// closeReason reads a close frame; what is absent is nil.
func closeReason(payload []byte) (reason, code any) {
	if len(payload) < 2 {
		return nil, nil
	}
	if len(payload) > 2 {
		reason = string(payload[2:])
	}
	return reason, int(binary.BigEndian.Uint16(payload))
}

// queue hands a frame to the writer; false when too many wait.
func (s *socket) queue(f frame) bool {
	select {
	case s.out <- f:
		return true
	default:
		return false
	}
}

// connect makes the connection and the opening handshake.
func (s *socket) connect(ctx context.Context, u *url.URL, headers http.Header) (net.Conn, *bufio.Reader, error) {
	port := u.Port()
	if port == "" {
		port = map[string]string{"ws": "80", "wss": "443"}[u.Scheme]
	}
	conn, err := s.net.dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil, nil, err
	}
	release := context.AfterFunc(ctx, func() { _ = conn.Close() })
	reader, err := s.open(ctx, &conn, u, headers)
	if err == nil && !release() {
		err = context.Cause(ctx)
	}
	if err != nil {
		release()
		_ = conn.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, nil, err
	}
	return conn, reader, nil
}

func (s *socket) open(ctx context.Context, conn *net.Conn, u *url.URL, headers http.Header) (*bufio.Reader, error) {
	if u.Scheme == "wss" {
		secure := tls.Client(*conn, s.net.tlsConfig(u.Hostname()))
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, errSecure
		}
		*conn = secure
	}
	key, err := s.sendHandshake(ctx, *conn, u, headers)
	if err != nil {
		return nil, err
	}
	limited := &io.LimitedReader{R: *conn, N: maxHeaderBytes}
	reader := bufio.NewReader(limited)
	response, err := http.ReadResponse(reader, &http.Request{Method: http.MethodGet})
	if err != nil {
		return nil, errCouldNot
	}
	_ = response.Body.Close() // a response that switches protocols has none
	sum := sha1.Sum([]byte(key + websocketGUID))
	accept := base64.StdEncoding.EncodeToString(sum[:])
	switch {
	case response.StatusCode != http.StatusSwitchingProtocols, response.Header.Get("Sec-Websocket-Accept") != accept:
		return nil, errBadHandshake
	case response.Header.Get("Sec-Websocket-Extensions") != "":
		return nil, errCouldNot // the game offers permessage-deflate and fails when it is accepted
	}
	limited.N = math.MaxInt64
	return reader, nil
}

func (s *socket) sendHandshake(ctx context.Context, conn net.Conn, u *url.URL, headers http.Header) (key string, err error) {
	var nonce [16]byte
	_, _ = rand.Read(nonce[:]) // never fails
	key = base64.StdEncoding.EncodeToString(nonce[:])
	target := *u
	target.Scheme = map[string]string{"ws": "http", "wss": "https"}[u.Scheme]
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return "", errURLMalformed
	}
	request.Header = headers
	if headers.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", userAgent)
	}
	for name, value := range map[string]string{
		"Upgrade": "websocket", "Connection": "Upgrade", "Sec-Websocket-Key": key, "Sec-Websocket-Version": "13",
		"Sec-Websocket-Extensions": "permessage-deflate",
	} {
		request.Header.Set(name, value)
	}
	return key, request.Write(conn)
}

// handle makes the Lua table of a connected socket.
func (s *socket) handle(m *machine) lua.LValue {
	t := newTable()
	m.setFuncs(t, map[string]lua.LGFunction{"send": s.send, "close": s.close, "receive": s.receive})
	return t
}

func (s *socket) close(l *lua.LState) int {
	if s.isClosed() {
		throw(l, closedFile)
	}
	s.hangUp()
	s.forget()
	return 0
}

func (s *socket) send(l *lua.LState) int {
	text := toText(l, l.CheckAny(1))
	if s.isClosed() {
		throw(l, closedFile)
	}
	if len(text) > s.net.machine.computer.opts.MaxMessage {
		throw(l, "Message is too large")
	}
	f := frame{opcode: opText}
	if lua.LVAsBool(l.Get(2)) {
		f.opcode, f.payload = opBinary, []byte(text)
	} else {
		f.payload = sanitise(text)
	}
	if !s.queue(f) {
		throw(l, "Too many ongoing websocket messages")
	}
	return 0
}

// sanitise replaces each byte that is not part of valid UTF-8, as the game does to text that it sends.
func sanitise(text string) []byte {
	if utf8.ValidString(text) {
		return []byte(text)
	}
	out := make([]byte, 0, len(text)+utf8.UTFMax)
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		out = utf8.AppendRune(out, r)
		i += size
	}
	return out
}

// receive waits for the next message of this socket; like the real one it swallows every other event meanwhile.
func (s *socket) receive(l *lua.LState) int {
	r := routineOf(l)
	timer := lua.LNil
	if l.Get(1) != lua.LNil {
		id, ok := r.machine.timers.start("timer", ticks(checkFinite(l, 1)), time.Now())
		if !ok {
			throw(l, "Too many timers")
		}
		timer = lua.LNumber(id)
	}
	if s.isClosed() {
		throw(l, closedFile)
	}
	for {
		e := r.yield(nil)
		name, first := lua.LNil, lua.LNil
		if len(e) > 0 {
			name = e[0]
		}
		if len(e) > 1 {
			first = e[1]
		}
		switch {
		case name == lua.LString("terminate"):
			raise(l, lua.LString("Terminated"))
		case name == lua.LString("websocket_message") && first == lua.LString(s.url):
			return pushAll(l, e[2:])
		case name == lua.LString("websocket_closed") && first == lua.LString(s.url) && s.isClosed(),
			name == lua.LString("timer") && first == timer:
			l.Push(lua.LNil)
			return 1
		}
	}
}
