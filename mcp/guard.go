package mcp

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/traposd/traposd/mcp/wire"
)

// Guard refuses HTTP requests that a web page or another machine could have caused: DNS rebinding (Host), cross-site
// requests (Origin, Sec-Fetch-Site), and anyone without the token. A refusal names the header and says how to allow it.
type Guard struct {
	// AllowedHosts are the names, with or without a port, under which the service may be reached beside the loopback ones.
	AllowedHosts []string

	// AllowedOrigins are the origins of web pages that may call beside those on loopback: `scheme://host[:port]`, or
	// `scheme://*` for a whole scheme (`vscode-webview://*`).
	AllowedOrigins []string

	// Token gives the bearer token that every request must carry; nil or "" means none is needed.
	Token func() string
}

// defaultOrigins are allowed always: a page with such an origin is part of a program on this machine, not of a site.
var defaultOrigins = []string{"vscode-webview://*", "vscode-file://*"}

// refusal is why a request does not pass.
type refusal struct {
	status  int
	message string
}

// Wrap returns a handler that passes to next only what the guard lets through. It answers CORS preflights of
// allowed origins itself.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.admit(w, r) {
			next.ServeHTTP(w, r)
		}
	})
}

// admit reports whether the request may go on; if not, it has been answered. Either way, neither the body nor the answer
// can take for ever: a body that nobody wants is read too, by the HTTP server, since the next request stands behind it.
func (g *Guard) admit(w http.ResponseWriter, r *http.Request) bool {
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(writeTimeout)) // not every connection has deadlines
	if r.ContentLength != 0 {
		_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout))
	}
	refused := g.check(r)
	if origin := r.Header.Get("Origin"); origin != "" && (refused == nil || refused.status == http.StatusUnauthorized) {
		allowCrossOrigin(w.Header(), origin)
	}
	if refused == nil && r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return false
	}
	if refused == nil {
		return true
	}
	if refused.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	writeError(w, refused.status, nil, wire.Errorf(CodeRefused, "%s", refused.message))
	return false
}

func (g *Guard) check(r *http.Request) *refusal {
	if !g.allowsHost(r) {
		return &refusal{http.StatusForbidden, fmt.Sprintf(
			"header Host %s is not a loopback name; to allow it, add it to allowedHosts in traposd.json", quoteShort(r.Host))}
	}
	origins := r.Header.Values("Origin")
	if len(origins) > 1 || len(origins) == 1 && !g.allowsOrigin(origins[0]) {
		return &refusal{http.StatusForbidden, fmt.Sprintf(
			"header Origin %s is not allowed; to allow it, add it to allowedOrigins in traposd.json",
			quoteShort(strings.Join(origins, ", ")))}
	}
	if site := strings.Join(r.Header.Values("Sec-Fetch-Site"), ", "); len(origins) == 0 && site != "" && site != "none" && site != "same-origin" {
		return &refusal{http.StatusForbidden, fmt.Sprintf(
			"header Sec-Fetch-Site %s without an Origin: a web page may not call; add its origin to allowedOrigins in traposd.json", quoteShort(site))}
	}
	if r.Method == http.MethodOptions && len(origins) == 1 {
		return nil // a preflight carries neither token nor body
	}
	if !g.allowsToken(r) {
		return &refusal{
			http.StatusUnauthorized,
			"header Authorization lacks the bearer token of this service (the one in TRAPOS_MCP_TOKEN)",
		}
	}
	return nil
}

func (g *Guard) allowsToken(r *http.Request) bool {
	if g.Token == nil {
		return true
	}
	want := g.Token()
	if want == "" {
		return true
	}
	scheme, got, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	// Hashing makes the compared lengths equal, so that the time says nothing about the token's length either.
	wantSum, gotSum := sha256.Sum256([]byte(want)), sha256.Sum256([]byte(strings.TrimSpace(got)))
	return subtle.ConstantTimeCompare(wantSum[:], gotSum[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

func (g *Guard) allowsHost(r *http.Request) bool {
	host, port := splitHostPort(r.Host)
	if isLoopbackHost(host) {
		return true
	}
	for _, allowed := range g.AllowedHosts {
		name, onlyPort := splitHostPort(allowed)
		if strings.EqualFold(name, host) && (onlyPort == "" || onlyPort == port) {
			return true
		}
	}
	// The very address that the connection came in on: rebinding works through names, and this is none.
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	localHost, _ := splitHostPort(local.String())
	want, err1 := netip.ParseAddr(localHost)
	got, err2 := netip.ParseAddr(host)
	return err1 == nil && err2 == nil && want.Unmap().WithZone("") == got.Unmap().WithZone("")
}

func (g *Guard) allowsOrigin(origin string) bool {
	parsed, err := url.Parse(origin)
	if err != nil || parsed.Scheme == "" || parsed.Host == "" || parsed.Path != "" || parsed.RawQuery != "" || parsed.User != nil {
		return false // "null" among them
	}
	if (parsed.Scheme == "http" || parsed.Scheme == "https") && isLoopbackHost(parsed.Hostname()) {
		return true
	}
	for _, list := range [][]string{g.AllowedOrigins, defaultOrigins} {
		for _, allowed := range list {
			scheme, whole := strings.CutSuffix(allowed, "://*")
			if whole && strings.EqualFold(scheme, parsed.Scheme) || strings.EqualFold(strings.TrimSuffix(allowed, "/"), origin) {
				return true
			}
		}
	}
	return false
}

// allowCrossOrigin lets the page of an allowed origin read the answers.
func allowCrossOrigin(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", "Accept, Authorization, Content-Type, Last-Event-ID, Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, *") // Mcp-Param-… among the last
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate")
	h.Set("Access-Control-Max-Age", "600")
}

// splitHostPort separates what may be a host with a port, and takes the brackets off an IPv6 address.
func splitHostPort(hostport string) (host, port string) {
	if h, p, err := net.SplitHostPort(hostport); err == nil {
		return h, p
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]"), ""
}

func isLoopbackHost(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// quoteShort makes a header's value fit for a message: quoted, control characters escaped, at most 100 bytes of it.
func quoteShort(s string) string {
	const limit = 100
	if len(s) > limit {
		return fmt.Sprintf("%q…", s[:limit])
	}
	return fmt.Sprintf("%q", s)
}
