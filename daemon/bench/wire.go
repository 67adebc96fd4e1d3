package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"
)

// wireConn is a WebSocket client that costs next to nothing: one small buffer, no masking to speak of (the key is zero), and
// whatever is answered while more is there to be read goes out in one write. It is for one goroutine.
type wireConn struct {
	conn net.Conn
	in   *bufio.Reader
	out  []byte
	body []byte
}

const (
	wireBuffer    = 1 << 10
	wireMaxFrame  = 64 << 10
	wireHandshake = 30 * time.Second

	opText  = 1
	opClose = 8
)

// refusedError is a gateway's no, in whatever form.
type refusedError struct{ text string }

func (e *refusedError) Error() string { return e.text }

func dialWire(ctx context.Context, target string) (*wireConn, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	w := &wireConn{conn: conn, in: bufio.NewReaderSize(conn, wireBuffer)}
	if err := w.upgrade(u); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return w, nil
}

func (w *wireConn) upgrade(u *url.URL) error {
	_ = w.conn.SetDeadline(time.Now().Add(wireHandshake))
	_, err := fmt.Fprintf(w.conn, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", u.Path, u.Host)
	if err != nil {
		return err
	}
	status, err := w.in.ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(status, "HTTP/1.1 101") {
		return &refusedError{"answered " + strings.TrimSpace(status)}
	}
	for {
		line, err := w.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			return w.conn.SetDeadline(time.Time{})
		}
	}
}

// read returns the next text message; it is valid until the next read. What was written is sent before it waits.
func (w *wireConn) read() ([]byte, error) {
	if w.in.Buffered() == 0 {
		if err := w.flush(); err != nil {
			return nil, err
		}
	}
	var head [8]byte
	if _, err := io.ReadFull(w.in, head[:2]); err != nil {
		return nil, err
	}
	op, size := head[0]&15, int(head[1]&127)
	switch size {
	case 126:
		if _, err := io.ReadFull(w.in, head[:2]); err != nil {
			return nil, err
		}
		size = int(binary.BigEndian.Uint16(head[:2]))
	case 127:
		return nil, errors.New("a frame is larger than the protocol allows")
	}
	if cap(w.body) < size {
		w.body = make([]byte, size)
	}
	w.body = w.body[:size]
	if _, err := io.ReadFull(w.in, w.body); err != nil {
		return nil, err
	}
	switch op {
	case opText:
		return w.body, nil
	case opClose:
		return nil, closedBy(w.body)
	}
	return nil, fmt.Errorf("a frame of type %d was not expected", op)
}

// closedBy is the error for a close frame: a refusal, if its code is one of the gateway's own.
func closedBy(body []byte) error {
	if len(body) >= 2 && binary.BigEndian.Uint16(body) >= 4000 {
		return &refusedError{fmt.Sprintf("closed with %d %s", binary.BigEndian.Uint16(body), body[2:])}
	}
	return io.EOF
}

// write keeps a text message for the next flush.
func (w *wireConn) write(text []byte) {
	w.out = append(w.out, 0x80|opText)
	if len(text) < 126 {
		w.out = append(w.out, 0x80|byte(len(text)))
	} else {
		w.out = binary.BigEndian.AppendUint16(append(w.out, 0x80|126), uint16(min(len(text), wireMaxFrame-1)))
	}
	w.out = append(w.out, 0, 0, 0, 0) // RFC 6455 section 5.3: a mask, of which any four bytes will do
	w.out = append(w.out, text...)
}

func (w *wireConn) flush() error {
	if len(w.out) == 0 {
		return nil
	}
	_, err := w.conn.Write(w.out)
	w.out = w.out[:0]
	return err
}

// kill ends the connection without a word, as a computer does that is switched off.
func (w *wireConn) kill() {
	if tcp, ok := w.conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // leaves no TIME_WAIT, of which churn would make more than there are ports
	}
	_ = w.conn.Close()
}

var (
	requestHead  = []byte(`{"type":"server_request","id":"`)
	pingHead     = []byte(`{"type":"ping"`)
	responseHead = []byte(`{"type":"computer_response","id":"`)
	responseTail = []byte(`","ok":true,"payload":{"t":1}}`)
)

// answer serves one frame: requests with a fixed payload, pings with pongs. It finds the id without parsing.
func (w *wireConn) answer(frame []byte) {
	switch {
	case bytes.HasPrefix(frame, requestHead):
		id, _, _ := bytes.Cut(frame[len(requestHead):], []byte{'"'})
		reply := make([]byte, 0, 128)
		reply = append(append(append(reply, responseHead...), id...), responseTail...)
		w.write(reply)
	case bytes.HasPrefix(frame, pingHead):
		w.write(append([]byte(`{"type":"pong"`), frame[len(pingHead):]...))
	}
}
