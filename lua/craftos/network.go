package craftos

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Limits of a computer's network, those of CC:Tweaked's default configuration.
const (
	maxWebsockets   = 4
	maxHTTPRequests = 16
	maxHTTPQueue    = 512
	defaultTimeout  = 30 * time.Second
	longestTimeout  = 60 * time.Second
	maxHeaderBytes  = 64 << 10
)

// userAgent is what the game sends.
const userAgent = "computercraft/1.113.1"

const (
	errNotPermitted   gameError = "Domain not permitted"
	errUnknownHost    gameError = "Unknown host"
	errCouldNot       gameError = "Could not connect"
	errTimedOut       gameError = "Timed out"
	errBadHandshake   gameError = "Invalid handshake response"
	errSecure         gameError = "Could not create a secure connection"
	errTooLarge       gameError = "Response is too large"
	errURLMalformed   gameError = "URL malformed"
	errConnectionGone gameError = "Connection closed"
)

// network is the connections of one boot. Nothing of it outlives close.
type network struct {
	machine *machine
	wg      sync.WaitGroup

	mu       sync.Mutex
	closed   bool             // guarded by mu
	sockets  map[*socket]bool // guarded by mu
	requests chan struct{}    // a slot for each running HTTP request
	waiting  int              // guarded by mu: HTTP requests that run or wait
}

func newNetwork(m *machine) *network {
	return &network{machine: m, sockets: map[*socket]bool{}, requests: make(chan struct{}, maxHTTPRequests)}
}

// close drops every connection, without a close frame, and waits until their goroutines are gone.
func (n *network) close() {
	n.mu.Lock()
	n.closed = true
	sockets := make([]*socket, 0, len(n.sockets))
	for s := range n.sockets {
		sockets = append(sockets, s)
	}
	n.mu.Unlock()
	for _, s := range sockets {
		s.hangUp()
	}
	n.wg.Wait()
}

// start runs f on a goroutine that close waits for; it does not after close.
func (n *network) start(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.closed {
		n.wg.Go(f)
	}
}

// friendly puts a failure into the words of the game, which tell little on purpose.
func friendly(err error) gameError {
	var known gameError
	var timeout net.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return errSecure
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return errTimedOut
	}
	return errCouldNot
}

// parseURL checks a URL as far as the game does before it connects.
func parseURL(text string, schemes ...string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || strings.ContainsAny(text, " \t\r\n") {
		return nil, errURLMalformed
	}
	switch {
	case u.Scheme == "" || u.Opaque != "":
		return nil, gameError("Must specify " + strings.Join(schemes, " or "))
	case !contains(schemes, strings.ToLower(u.Scheme)):
		return nil, gameError("Invalid protocol '" + u.Scheme + "'")
	case u.Hostname() == "":
		return nil, errURLMalformed
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return nil, gameError("Port is out of range")
		}
	}
	u.Scheme = strings.ToLower(u.Scheme)
	return u, nil
}

func contains(items []string, item string) bool {
	for _, candidate := range items {
		if candidate == item {
			return true
		}
	}
	return false
}

// privateNets are what the rule "$private" denies beyond what netip knows as loopback, private and link-local.
var privateNets = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("fd00::/8"),
}

// private reports whether the rule "$private" covers an address.
func private(ip netip.Addr) bool {
	ip = ip.Unmap()
	if ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || ip.IsMulticast() {
		return true
	}
	for _, prefix := range privateNets {
		if prefix.Contains(ip) {
			return true
		}
	}
	return false
}

// resolve finds a host's address and applies the rule to it. The address is what is dialled, so that a second look-up
// cannot give another one.
func (n *network) resolve(ctx context.Context, host string) (netip.Addr, error) {
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(ips) == 0 {
		if ctx.Err() != nil {
			return netip.Addr{}, ctx.Err()
		}
		return netip.Addr{}, errUnknownHost
	}
	for _, ip := range ips {
		if n.machine.computer.opts.AllowPrivate || !private(ip) {
			return ip.Unmap(), nil
		}
	}
	return netip.Addr{}, errNotPermitted
}

// dial connects to host:port within the rules.
func (n *network) dial(ctx context.Context, transport, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("split %q: %w", address, err)
	}
	ip, err := n.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	return d.DialContext(ctx, transport, net.JoinHostPort(ip.String(), port))
}

func (n *network) tlsConfig(host string) *tls.Config {
	return &tls.Config{ServerName: host, RootCAs: n.machine.computer.opts.RootCAs, MinVersion: tls.VersionTLS12}
}

func timeoutOf(seconds float64) time.Duration {
	if !(seconds > 0) {
		return defaultTimeout
	}
	return time.Duration(min(seconds, longestTimeout.Seconds()) * float64(time.Second))
}
