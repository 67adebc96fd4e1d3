//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// victim is a service with a server that writes down everything it is sent, and a computer.
type victim struct {
	*bed
	seen      string // the server's file
	port      string
	unrefused int
}

func newVictim(t *testing.T) *victim {
	t.Helper()
	b := newBed(t)
	v := &victim{bed: b, seen: filepath.Join(b.dir, "seen")}
	b.write(`{"mcpServers": {"log": {"command": "bash", "args": ["-c", "tee -a ` + v.seen + ` | ` + b.program + ` demo-server dice"]}}}`)
	b.start()
	u, err := url.Parse(b.url)
	if err != nil {
		t.Fatal(err)
	}
	v.port = u.Port()
	computer := b.command(b.program, "computer", "--id", "7", "--label", "victim")
	if err := computer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = computer.Process.Kill()
		_ = computer.Wait()
	})
	b.await("the server", func() bool { return b.server("log").State == "ready" })
	b.await("the computer", func() bool { return strings.Contains(v.computers(), `"exec-lua"`) })
	return v
}

func (v *victim) computers() string {
	return v.mustRun(v.command(v.program, "computers", "--json"))
}

// effects is what has come of calls: what the server was sent, pings aside, and the lines of the log about computers.
func (v *victim) effects() (lines []string) {
	v.t.Helper()
	sent, err := os.ReadFile(v.seen)
	if err != nil {
		v.t.Fatal(err)
	}
	for line := range strings.Lines(string(sent)) {
		var message struct{ Method string }
		if json.Unmarshal([]byte(line), &message) != nil || message.Method != "ping" {
			lines = append(lines, line)
		}
	}
	for line := range strings.Lines(v.log.String()) {
		if strings.Contains(line, `"tool":`) || strings.Contains(line, `"computer":`) {
			lines = append(lines, line)
		}
	}
	return lines
}

// harmless is a request that the listener answers.
func (v *victim) harmless(method, target, body string) rawRequest {
	r := rawRequest{method: method, target: target, headers: []string{"Host: 127.0.0.1:PORT", "Accept: application/json, text/event-stream", "Connection: close"}}
	if method == http.MethodPost || method == http.MethodPut {
		r.headers, r.body = append(r.headers, "Content-Type: application/json"), body
	}
	if method == http.MethodOptions {
		r.headers = append(r.headers, "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type", "Access-Control-Request-Private-Network: true")
	}
	return r
}

// send sends to the listener.
func (v *victim) send(t *testing.T, r rawRequest) []rawResponse {
	t.Helper()
	return exchange(t, "127.0.0.1:"+v.port, v.fill(r.String()))
}

func (v *victim) fill(text string) string { return strings.ReplaceAll(text, "PORT", v.port) }

// maxUnrefused is after how many failures the test gives up.
const maxUnrefused = 10

// isRefused fails unless there is one answer, a refusal that says what is wanted and gives a page nothing.
func (v *victim) isRefused(t *testing.T, r rawRequest, want string, responses []rawResponse) {
	t.Helper()
	request := v.fill(r.String())
	wrong := func(format string, args ...any) {
		t.Errorf(format, args...)
		if v.unrefused++; v.unrefused == maxUnrefused {
			t.FailNow()
		}
	}
	if len(responses) != 1 {
		wrong("%d answers to %q: %v", len(responses), request, responses)
		return
	}
	got := responses[0]
	said := regexp.MustCompile(want).MatchString(strings.ReplaceAll(got.body, "\n", " "))
	if got.status < 400 || got.status >= 500 || !said {
		wrong("%q was answered %d %s; want %s", request, got.status, got.body, want)
	}
	for _, header := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Private-Network", "Mcp-Session-Id", "Location"} {
		if value := got.header.Get(header); value != "" {
			wrong("the answer to %q has %s: %s", request, header, value)
		}
	}
}

// TestCrossSite has web pages and rebound names try everything on both ports of a service whose server writes down what it is
// sent: all of it is refused, with the reason, and the server and the computer have not heard of any.
func TestCrossSite(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	before := v.effects()
	for _, wish := range []string{wishes[0], wishes[2]} { // so that an effect would be seen
		if answers := v.send(t, v.harmless(http.MethodPost, "/mcp", wish)); len(answers) != 1 || answers[0].status != http.StatusOK {
			t.Fatalf("a harmless client's %s was answered %v", wish, answers)
		}
		v.await("the effect of a harmless call", func() bool { return len(v.effects()) > len(before) })
		before = v.effects()
	}
	computers := v.computers()
	t.Run("headers", func(t *testing.T) { tryHeaders(t, v) })
	t.Run("bodies", func(t *testing.T) { tryBodies(t, v) })
	t.Run("proxies and old versions", func(t *testing.T) { tryForms(t, v) })
	t.Run("requests in bodies", func(t *testing.T) { tryNested(t, v) })
	t.Run("gateway", func(t *testing.T) { tryGateway(t, v) })
	if after := v.effects(); !slices.Equal(after, before) {
		t.Errorf("there was an effect:\n%s", strings.Join(after[len(before):], ""))
	}
	if now := v.computers(); now != computers {
		t.Errorf("the computers were\n%s\nand are\n%s", computers, now)
	}
	v.stop()
}

// tryHeaders sends every header that gives a web page away, by every method to every path.
func tryHeaders(t *testing.T, v *victim) {
	n := 0
	for _, trick := range append(slices.Clone(hostTricks), originTricks...) {
		for _, target := range targets {
			if strings.HasPrefix(target, "http") && strings.Contains(trick.headers[0], "Host") {
				continue // RFC 9112, section 3.2.2: the target's host counts, not the header
			}
			for _, method := range methods {
				r := v.harmless(method, target, wishes[n%len(wishes)]).with(trick.headers...)
				v.isRefused(t, r, trick.want, v.send(t, r))
				n++
			}
		}
	}
	t.Logf("%d requests were refused", n)
}

// tryBodies sends what needs no preflight, without a header that says where from.
func tryBodies(t *testing.T, v *victim) {
	for _, target := range endpoints {
		for i, trick := range contentTricks {
			r := v.harmless(http.MethodPost, target, wishes[i%len(wishes)]).with(trick.headers...)
			v.isRefused(t, r, trick.want, v.send(t, r))
		}
		bare := v.harmless(http.MethodPost, target, wishes[0])
		bare.headers = slices.DeleteFunc(bare.headers, func(line string) bool { return fieldName(line) == "content-type" })
		v.isRefused(t, bare, contentRefused, v.send(t, bare))
		for _, query := range []string{"", "?" + url.Values{"message": {wishes[0]}, "method": {"tools/call"}, "_method": {"POST"}}.Encode()} {
			r := v.harmless(http.MethodGet, target+query, "").with("Accept: image/avif,*/*", "X-HTTP-Method-Override: POST")
			v.isRefused(t, r, "", v.send(t, r))
		}
	}
}

// tryForms asks as a proxy is asked, and as clients of old did.
func tryForms(t *testing.T, v *victim) {
	for _, target := range []string{"http://evil.example/mcp", "http://evil.example:PORT/mcp", "https://evil.example/mcp/s/log", "http://127.0.0.1.evil.example:PORT/mcp"} {
		for _, method := range methods {
			r := v.harmless(method, target, wishes[0])
			v.isRefused(t, r, hostRefused, v.send(t, r))
		}
	}
	connect := v.harmless(http.MethodConnect, "evil.example:443", "").with("Host: evil.example:443")
	v.isRefused(t, connect, hostRefused, v.send(t, connect))
	for _, trick := range append(slices.Clone(hostTricks), originTricks...) {
		for _, target := range endpoints {
			r := v.harmless(http.MethodPost, target, wishes[0]).with(trick.headers...)
			r.version = "HTTP/1.0"
			v.isRefused(t, r, trick.want+"|"+hostRefused, v.send(t, r)) // HTTP/1.0 has no need of a Host
		}
	}
}

// tryNested has a whole harmless request as the body of one that is refused: it must not be taken for the next one.
func tryNested(t *testing.T, v *victim) {
	inner := v.fill(v.harmless(http.MethodPost, "/mcp", wishes[0]).String())
	last := v.harmless(http.MethodGet, "/nothing", "")
	for _, headers := range [][]string{{"Content-Type: text/plain"}, {"Origin: https://evil.example"}, {"Host: evil.example"}, {"Sec-Fetch-Site: cross-site"}} {
		for _, target := range append([]string{"/nothing"}, endpoints...) {
			r := v.harmless(http.MethodPost, target, inner).with(append(headers, "Connection: keep-alive")...)
			answers := exchange(t, "127.0.0.1:"+v.port, v.fill(r.String()+last.String()))
			if len(answers) != 2 || answers[0].status/100 != 4 || answers[1].status != http.StatusNotFound {
				t.Errorf("a request in the body of %q: %v", v.fill(r.String()), answers)
			}
		}
	}
}

// tryGateway has web pages try to be computers. The gateway goes by no Host, since computers use any name of the network:
// it is the Origin, which no browser leaves out when it opens a WebSocket, that gives a page away, a rebound one too.
func tryGateway(t *testing.T, v *victim) {
	u, err := url.Parse(v.gateway)
	if err != nil {
		t.Fatal(err)
	}
	v.port = u.Port()
	hello := `{"type":"hello","protocol":1,"password":"x","networkId":"default","computerId":8,"label":"evil","boot":"b","serves":["exec-lua"]}`
	upgrade := []string{"Connection: Upgrade, close", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}
	for _, trick := range originTricks {
		for _, target := range []string{"/gateway", "/%67ateway", "/gateway?x", "http://127.0.0.1:PORT/gateway"} {
			for _, method := range methods {
				r := v.harmless(method, target, hello).with(trick.headers...)
				v.isRefused(t, r, `header (Origin|Sec-Fetch-Site)`, v.send(t, r))
				r = r.with(upgrade...)
				v.isRefused(t, r, `header (Origin|Sec-Fetch-Site)`, v.send(t, r))
			}
		}
		for _, target := range []string{"//gateway", "/gateway/", "/lua/../gateway", "/"} {
			r := v.harmless(http.MethodGet, target, "").with(append(upgrade, trick.headers...)...)
			v.isRefused(t, r, "", v.send(t, r))
		}
	}
	for _, headers := range [][]string{nil, {"Origin: https://evil.example"}} {
		inner := rawRequest{method: http.MethodGet, target: "/gateway", headers: append([]string{"Host: 127.0.0.1:PORT"}, upgrade...)}
		r := v.harmless(http.MethodPost, "/gateway", v.fill(inner.String())).with(append(headers, "Content-Type: text/plain", "Connection: keep-alive")...)
		answers := exchange(t, "127.0.0.1:"+v.port, v.fill(r.String()+v.harmless(http.MethodGet, "/nothing", "").String()))
		if len(answers) != 2 || answers[0].status/100 != 4 || answers[1].status != http.StatusNotFound {
			t.Errorf("a WebSocket in the body of a request: %v", answers)
		}
	}
}
