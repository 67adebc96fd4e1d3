package upstream

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
)

// errSessionGone means that the remote server no longer knows our session.
var errSessionGone = errors.New("the server has forgotten the session")

// errUnauthorized means that the remote server refuses our credentials (HTTP status 401 or 403).
var errUnauthorized = errors.New("needs authorization")

// errStopped means that we ended the server ourselves.
var errStopped = errors.New("stopped")

// errNotSSE means that the url does not answer as the SSE transport does.
var errNotSSE = errors.New("the url does not speak the SSE transport")

// throttled means that the remote server asks us to come back later (HTTP status 429, or 503 with Retry-After).
type throttled struct {
	after time.Duration // 0: it did not say
}

func (t throttled) Error() string {
	if t.after > 0 {
		return fmt.Sprintf("the server asks to wait %v", t.after)
	}
	return "the server asks to wait"
}

// callError turns a failure on the way to a server into the error that the asker gets. A server's own error and the end
// of the asker's context pass unchanged.
func callError(server string, err error) error {
	var own *wire.Error
	switch {
	case errors.As(err, &own):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, errUnauthorized):
		return wire.Errorf(mcp.CodeNeedsAuthorization, "server %q refuses our credentials: mend the headers of its entry", server)
	}
	var why *failure
	if errors.As(err, &why) && why.verb {
		return wire.Errorf(mcp.CodeServerDown, "server %q %s", server, why.text)
	}
	return wire.Errorf(mcp.CodeServerDown, "server %q failed: %s", server, describe(err))
}

// describe says what went wrong without repeating anything that was read from a configuration file: the errors of net,
// net/url and os/exec quote addresses, urls and commands.
func describe(err error) string {
	var (
		own         *failure
		throttle    throttled
		dns         *net.DNSError
		path        *os.PathError
		timeout     interface{ Timeout() bool }
		certificate *x509.UnknownAuthorityError
		hostname    x509.HostnameError
		invalid     x509.CertificateInvalidError
		address     *url.Error
		rpc         *wire.Error
		errno       syscall.Errno
	)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &own):
		return own.text
	case errors.As(err, &rpc):
		return fmt.Sprintf("it answered with error %d: %s", rpc.Code, rpc.Message)
	case errors.As(err, &throttle):
		return throttle.Error()
	case errors.Is(err, errUnauthorized), errors.Is(err, errSessionGone), errors.Is(err, errNotSSE), errors.Is(err, errStopped):
		return unwrapAll(err)
	case errors.As(err, &dns):
		return "its host name cannot be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused: nothing listens at its url"
	case errors.As(err, &certificate), errors.As(err, &hostname), errors.As(err, &invalid):
		return "its TLS certificate is not trusted"
	case errors.As(err, &path):
		return path.Err.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timed out"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed"
	case errors.As(err, &errno):
		return errno.Error()
	case errors.As(err, &address):
		return "the request failed: " + address.Op
	}
	return "the connection failed"
}

func unwrapAll(err error) string {
	for _, known := range []error{errUnauthorized, errSessionGone, errNotSSE, errStopped} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return err.Error()
}

// unstartable says why a child process could not be started.
func unstartable(err error) error {
	return failf(err, "its command cannot be started: %s", describe(err))
}

// failure is an error whose text is our own and safe to show.
type failure struct {
	text  string
	cause error
	verb  bool // text continues "server X …"
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.cause }

func failf(cause error, format string, args ...any) error {
	return &failure{text: fmt.Sprintf(format, args...), cause: cause}
}
