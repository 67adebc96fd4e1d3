package mcp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/traposd/traposd/mcp"
)

// pipes is a net.Listener whose connections are pipes: what one side does not read, the other cannot write.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4445} }

// slowBed runs test with a listener behind an HTTP server in a synctest bubble; dial opens a connection to it.
func slowBed(t *testing.T, test func(t *testing.T, l *mcp.Listener, dial func() net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := mcp.NewListener(mcp.Options{})
		server := &http.Server{Handler: l, ReadHeaderTimeout: time.Minute}
		p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		served := make(chan error)
		go func() { served <- server.Serve(p) }()
		test(t, l, func() net.Conn {
			ours, theirs := net.Pipe()
			p.conns <- theirs
			return ours
		})
		if err := l.Close(t.Context()); err != nil {
			t.Errorf("the listener did not close: %v", err)
		}
		_ = server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

func write(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

const (
	slowHead = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	slowPing = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
)

func TestCloseWaitsForNoSlowClient(t *testing.T) {
	for name, request := range map[string]string{
		"a body that does not come":     slowHead + "Content-Length: 1000\r\n\r\n{",
		"an answer that nobody reads":   slowHead + "Content-Length: 40\r\n\r\n" + slowPing,
		"a stream that nobody reads":    slowHead + "Accept: text/event-stream\r\nContent-Length: 40\r\n\r\n" + slowPing,
		"a refusal that nobody reads":   slowHead + "Content-Length: 1\r\n\r\n{",
		"an open chunk that never ends": slowHead + "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"js",
	} {
		t.Run(name, func(t *testing.T) {
			slowBed(t, func(t *testing.T, l *mcp.Listener, dial func() net.Conn) {
				conn := dial()
				defer func() { _ = conn.Close() }()
				write(t, conn, request)
				synctest.Wait()
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				if err := l.Close(ctx); err != nil {
					t.Errorf("the listener did not close: %v", err)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("closing took %s", took)
				}
			})
		})
	}
}

// A client that asks and does not read, or announces a body and does not send it, must not hold its connection for ever.
func TestSlowClientsAreCutOff(t *testing.T) {
	for _, row := range []struct {
		name, request string
		reads         bool
	}{
		{"reads no answer", slowHead + "Content-Length: 40\r\n\r\n" + slowPing, false},
		{"reads no stream", slowHead + "Accept: text/event-stream\r\nContent-Length: 40\r\n\r\n" + slowPing, false},
		{"reads no refusal", strings.Replace(slowHead, "localhost", "evil.example", 1) + "Content-Length: 0\r\n\r\n", false},
		{"sends no body", slowHead + "Content-Length: 1000\r\n\r\n{", true},
		{"sends no body to a refusal", strings.Replace(slowHead, "localhost", "evil.example", 1) + "Content-Length: 1000\r\n\r\n{", true},
		{"sends no body of a wrong type", strings.Replace(slowHead, "json", "xml", 1) + "Content-Length: 1000\r\n\r\n{", true},
		{"sends no body of a GET", "GET /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			slowBed(t, func(t *testing.T, _ *mcp.Listener, dial func() net.Conn) {
				conn := dial()
				defer func() { _ = conn.Close() }()
				write(t, conn, row.request)
				began := time.Now()
				_ = conn.SetDeadline(began.Add(time.Hour))
				var err error
				if row.reads {
					_, err = io.Copy(io.Discard, conn)
				} else {
					for err == nil { // the server reads what is sent, until it closes
						_, err = io.WriteString(conn, "x")
					}
					if errors.Is(err, io.ErrClosedPipe) {
						err = nil
					}
				}
				if took := time.Since(began); err != nil || took > 3*time.Minute {
					t.Errorf("the connection was closed after %s, with %v", took, err)
				}
			})
		})
	}
}
