package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/traposd/traposd/mcpconfig"
)

// Limits of the way to a remote server. There is none on the answer's beginning: a call may take its whole time limit.
const (
	dialLimit      = 10 * time.Second
	handshakeLimit = 10 * time.Second
	idleLimit      = 90 * time.Second
	idleConns      = 64 // kept open to one server, so that as many calls at once need no new ones
	keepIdle       = 10 * time.Second
	keepInterval   = 5 * time.Second
	keepCount      = 3
	maxThrottle    = 5 * time.Minute
)

// remote is what both HTTP transports share: the address, the headers of the entry, and a client that sends them
// nowhere else.
type remote struct {
	url     *url.URL
	headers http.Header
	host    string // the Host header of the entry; empty: that of the url
	client  *http.Client

	// streams takes a new connection for every request. On one that was used before, net/http repeats a GET that breaks off,
	// and a server that cannot hold a stream would get twice as many of them.
	streams *http.Client
}

// errRedirect means that a server redirects to another origin.
var errRedirect = errors.New("redirected to another origin")

// dialer finds out within keepIdle + keepCount × keepInterval that a host is gone without a word, also while it is only
// listened to.
var dialer = net.Dialer{
	Timeout:         dialLimit,
	KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: keepIdle, Interval: keepInterval, Count: keepCount},
}

func newRemote(server mcpconfig.Server, dial func(context.Context, string, string) (net.Conn, error)) (*remote, error) {
	if dial == nil {
		dial = dialer.DialContext
	}
	u, err := url.Parse(server.URL.Reveal())
	if err != nil || u.Host == "" {
		return nil, failf(err, "its url cannot be read") // the error would quote it
	}
	r := &remote{url: u, headers: http.Header{}}
	for _, h := range server.Headers {
		if strings.EqualFold(h.Name, "Host") {
			r.host = h.Value.Reveal()
			continue
		}
		r.headers.Add(h.Name, h.Value.Reveal())
	}
	if password, ok := u.User.Password(); (ok || u.User.Username() != "") && r.headers.Get("Authorization") == "" {
		request := http.Request{Header: r.headers}
		request.SetBasicAuth(u.User.Username(), password)
	}
	u.User = nil
	r.client, r.streams = r.newClient(idleConns, dial), r.newClient(-1, dial)
	return r, nil
}

// newClient makes a client that keeps so many idle connections; -1: none.
func (r *remote) newClient(idle int, dial func(context.Context, string, string) (net.Conn, error)) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           dial,
			TLSHandshakeTimeout:   handshakeLimit,
			ExpectContinueTimeout: time.Second,
			IdleConnTimeout:       idleLimit,
			MaxIdleConns:          max(idle, 0),
			MaxIdleConnsPerHost:   idle,
			ForceAttemptHTTP2:     true,
		},
		CheckRedirect: func(to *http.Request, via []*http.Request) error {
			switch {
			case len(via) >= maxRedirects:
				return failf(nil, "it redirects more than %d times", maxRedirects)
			case !sameOrigin(to.URL, r.url):
				return failf(errRedirect, "its url redirects to another origin, which gets none of the entry's headers: write the final url")
			}
			return nil
		},
	}
}

// sameOrigin compares scheme, host and port (RFC 6454).
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// request makes a request to target with the entry's headers. Those of the transport are set by the caller afterwards:
// an entry cannot break the protocol.
func (r *remote) request(ctx context.Context, method string, target *url.URL, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, target.String(), body)
	if err != nil {
		return nil, failf(err, "its url cannot be used")
	}
	for name, values := range r.headers {
		req.Header[name] = values
	}
	if r.host != "" {
		req.Host = r.host
	}
	return req, nil
}

func (r *remote) closeIdle() {
	r.client.CloseIdleConnections()
	r.streams.CloseIdleConnections()
}

func mediaType(resp *http.Response) string {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// refusal is an HTTP status that is no answer.
func refusal(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%w (HTTP status %d)", errUnauthorized, resp.StatusCode)
	case http.StatusTooManyRequests:
		return throttled{after: retryAfter(resp)}
	case http.StatusServiceUnavailable:
		if after := retryAfter(resp); after > 0 {
			return throttled{after: after}
		}
	}
	return failf(nil, "it answered with HTTP status %d", resp.StatusCode)
}

// retryAfter reads Retry-After (RFC 9110, section 10.2.3), at most maxThrottle; 0 if there is none.
func retryAfter(resp *http.Response) time.Duration {
	text := resp.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, maxThrottle)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, min(time.Until(at), maxThrottle))
	}
	return 0
}

// discard reads what is left of a short body, so that its connection can be used again, and closes it.
func discard(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 64<<10)
	_ = body.Close()
}

// readBody reads a body of at most maxMessageBytes.
func readBody(body io.Reader, length int64) ([]byte, error) {
	if length > maxMessageBytes {
		return nil, errEventTooLong
	}
	data := make([]byte, 0, max(512, length+1))
	for {
		n, err := body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case errors.Is(err, io.EOF):
			return data, nil
		case err != nil:
			return nil, err
		case len(data) > maxMessageBytes:
			return nil, errEventTooLong
		case len(data) == cap(data):
			data = append(data, 0)[:len(data)]
		}
	}
}
