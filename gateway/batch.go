package gateway

import (
	"bufio"
	"net"
	"net/http"
	"sync"
	"time"
)

// batchConn gathers what the WebSocket library writes, until flush sends it in one system call: eight small requests to
// one computer cost one write. Writing never blocks and never fails; flushing is for one goroutine at a time, the
// session's writer, or before there is one, whoever runs the connection.
type batchConn struct {
	net.Conn

	mu  sync.Mutex
	buf *[]byte // nil while it is empty, so that an idle connection holds none
}

const (
	batchBytes  = 32 << 10  // what is gathered before it is sent
	batchLimit  = 64 << 10  // beyond it the pongs of the WebSocket layer are left out
	batchPooled = 128 << 10 // larger buffers are not kept
)

var batchPool = sync.Pool{New: func() any { b := make([]byte, 0, 1<<10); return &b }}

// Write keeps a copy of p for the next flush.
func (b *batchConn) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.buf == nil {
		b.buf = batchPool.Get().(*[]byte)
	}
	*b.buf = append(*b.buf, p...)
	return len(p), nil
}

// SetWriteDeadline does nothing: flush has a deadline of its own, and the library sets one for each message.
func (b *batchConn) SetWriteDeadline(time.Time) error { return nil }

// CloseWrite ends our direction of the connection, if its kind can.
func (b *batchConn) CloseWrite() error {
	if half, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// size is how many bytes wait.
func (b *batchConn) size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.buf == nil {
		return 0
	}
	return len(*b.buf)
}

// flush sends what waits.
func (b *batchConn) flush(timeout time.Duration) error {
	b.mu.Lock()
	buf := b.buf
	b.buf = nil
	b.mu.Unlock()
	if buf == nil {
		return nil
	}
	err := b.Conn.SetWriteDeadline(time.Now().Add(timeout))
	if err == nil {
		_, err = b.Conn.Write(*buf)
	}
	if cap(*buf) <= batchPooled {
		*buf = (*buf)[:0]
		batchPool.Put(buf)
	}
	return err
}

// batchHijacker has the WebSocket library find a batchConn where it takes the connection over.
type batchHijacker struct {
	http.ResponseWriter
	conn *batchConn
}

// Hijack takes the connection over from the HTTP server.
func (h *batchHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.conn = &batchConn{Conn: conn}
	return h.conn, rw, nil
}
