package mcpconfig

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// parseURL accepts an absolute http or https url with a host. The standard library's error is dropped on purpose: it
// repeats what it could not read.
func parseURL(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" || u.Hostname() == "" {
		return nil, false
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return nil, false
		}
	}
	return u, true
}

// plaintext tells whether what is sent to u can be read on the way: http to a host that is not certainly this one. Only
// what every resolver takes for loopback counts as such: localhost (RFC 6761), 127.0.0.0/8, ::1.
func plaintext(u *url.URL) bool {
	if u.Scheme != "http" {
		return false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if host == "localhost" {
		return false
	}
	address, err := netip.ParseAddr(host)
	return err != nil || !address.Unmap().IsLoopback()
}

// pointsAt tells whether u leads to one of the listeners, given as host:port. Here every spelling counts that some
// resolver might take for this host.
func pointsAt(u *url.URL, listeners []string) bool {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	number, _ := strconv.Atoi(port)
	for _, listener := range listeners {
		host, listenerPort, err := net.SplitHostPort(listener)
		if err != nil {
			continue
		}
		if n, err := strconv.Atoi(listenerPort); err != nil || n != number {
			continue
		}
		if sameHost(u.Hostname(), host) || (host == "" || thisHost(host)) && thisHost(u.Hostname()) {
			return true
		}
	}
	return false
}

func sameHost(a, b string) bool {
	a, b = plainHost(a), plainHost(b)
	x, errX := looseAddress(a)
	y, errY := looseAddress(b)
	if errX == nil && errY == nil {
		return x == y
	}
	return a == b && a != ""
}

// thisHost tells whether host is loopback, or unspecified, which connects to loopback.
func thisHost(host string) bool {
	host = plainHost(host)
	switch host {
	case "localhost", "localhost.localdomain", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback":
		return true
	}
	if strings.HasSuffix(host, ".localhost") {
		return true
	}
	address, err := looseAddress(host)
	return err == nil && (address.IsLoopback() || address.IsUnspecified())
}

// plainHost brings a host to lower case, without final dots or zone, fullwidth forms mapped to ASCII as IDNA does.
func plainHost(host string) string {
	host = strings.Map(func(r rune) rune {
		switch {
		case r >= 0xFF01 && r <= 0xFF5E:
			return r - 0xFEE0
		case r == 0x3002:
			return '.'
		}
		return r
	}, host)
	host, _, _ = strings.Cut(host, "%")
	return strings.TrimRight(strings.ToLower(host), ".")
}

// looseAddress parses an IP address, the forms that inet_aton takes included: 127.1, 0x7f000001, 0177.0.0.1.
func looseAddress(host string) (netip.Addr, error) {
	address, err := netip.ParseAddr(host)
	if err == nil {
		return address.Unmap().WithZone(""), nil
	}
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, err
	}
	var n uint64
	for i, part := range parts {
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		if strings.ContainsAny(part, "_+-oObB") && !strings.HasPrefix(part, "0x") {
			return netip.Addr{}, err
		}
		v, parseErr := strconv.ParseUint(part, 0, bits)
		if parseErr != nil {
			return netip.Addr{}, err
		}
		n = n<<bits | v
	}
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), nil
}

// maskedURL hides the userinfo and the query of a url, which may hold placeholders without defaults (see unexpanded).
func maskedURL(text string) string {
	scheme, rest, found := strings.Cut(text, "://")
	if found {
		scheme += "://"
	} else {
		scheme, rest = "", text
	}
	tail := ""
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		if rest[i] == '?' {
			tail = "?***"
		}
		rest = rest[:i]
	}
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = "***@" + authority[i+1:]
	}
	return scheme + authority + path + tail
}
