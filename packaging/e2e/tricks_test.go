//go:build e2e

package e2e

import "net/http"

// trick is one way in which a web page, or a name that was rebound to this machine, could try to call: headers in the
// place of a harmless client's, and what the refusal has to say.
type trick struct {
	headers []string
	want    string // a regular expression
}

const (
	hostRefused    = `header Host .*allowedHosts`
	originRefused  = `header Origin .*allowedOrigins`
	siteRefused    = `header Sec-Fetch-Site .*allowedOrigins`
	hostMalformed  = `^400 Bad Request` // by Go's HTTP server, before anything of ours
	contentRefused = `header Content-Type must be application/json`
)

// hostTricks are Host headers of a rebound name, in all spellings. PORT is the listener's.
var hostTricks = []trick{
	{[]string{"Host: evil.example"}, hostRefused},
	{[]string{"Host: evil.example:PORT"}, hostRefused},
	{[]string{"Host: EVIL.EXAMPLE.:PORT"}, hostRefused},
	{[]string{"Host: 127.0.0.1.evil.example:PORT"}, hostRefused},
	{[]string{"Host: localhost.evil.example"}, hostRefused},
	{[]string{"Host: evil-localhost:PORT"}, hostRefused},
	{[]string{"Host: evil.localhost:PORT"}, hostRefused},
	{[]string{"Host: 0.0.0.0:PORT"}, hostRefused},
	{[]string{"Host: [::]:PORT"}, hostRefused},
	{[]string{"Host: [::ffff:10.0.0.1]:PORT"}, hostRefused},
	{[]string{"Host: 192.168.1.1:PORT"}, hostRefused},
	{[]string{"Host: 2130706433:PORT"}, hostRefused},  // 127.0.0.1 as one number; browsers write the address
	{[]string{"Host: 0x7f.0.0.1:PORT"}, hostRefused},  // the same in hexadecimal,
	{[]string{"Host: 0177.0.0.1:PORT"}, hostRefused},  // in octal,
	{[]string{"Host: 127.1:PORT"}, hostRefused},       // and short
	{[]string{"Host: xn--lcalhost-21a"}, hostRefused}, // löcalhost
	{[]string{"Host: localhost,evil.example"}, hostRefused},
	{[]string{"Host: evil.example", "X-Forwarded-Host: localhost", "Forwarded: host=localhost", "X-Real-IP: 127.0.0.1"}, hostRefused},
	{[]string{"Host:"}, hostRefused},
	{[]string{"Host: localhost@evil.example"}, hostRefused + `|` + hostMalformed},
	{[]string{"Host: localhost/evil.example"}, hostRefused + `|` + hostMalformed},
	{[]string{"Host: localhost evil.example"}, hostRefused + `|` + hostMalformed},
	{[]string{"Host: localhost:PORT", "Host: evil.example"}, hostMalformed},
	{[]string{"Host: evil.example", "Host: localhost:PORT"}, hostMalformed},
	{[]string{"Host"}, hostMalformed}, // none
}

// originTricks are what browsers say of a page that calls without being asked.
var originTricks = []trick{
	{[]string{"Origin: https://evil.example"}, originRefused},
	{[]string{"Origin: https://evil.example", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors"}, originRefused},
	{[]string{"Origin: https://evil.example", "Sec-Fetch-Site: same-origin"}, originRefused},
	{[]string{"Origin: http://evil.example:PORT", "Host: evil.example:PORT"}, hostRefused + `|` + originRefused}, // rebound, it is its own origin
	{[]string{"Origin: null"}, originRefused},
	{[]string{"Origin: null", "Sec-Fetch-Site: none"}, originRefused},
	{[]string{"Origin:"}, originRefused},
	{[]string{"Origin: http://localhost.evil.example"}, originRefused},
	{[]string{"Origin: http://127.0.0.1.evil.example:PORT"}, originRefused},
	{[]string{"Origin: http://localhost@evil.example"}, originRefused},
	{[]string{"Origin: http://evil.example#localhost"}, originRefused},
	{[]string{"Origin: http://0.0.0.0:PORT"}, originRefused},
	{[]string{"Origin: http://192.168.1.1:PORT"}, originRefused},
	{[]string{"Origin: localhost"}, originRefused},
	{[]string{"Origin: file://"}, originRefused},
	{[]string{"Origin: chrome-extension://abcdefghijklmnop"}, originRefused},
	{[]string{"Origin: http://localhost:6274, https://evil.example"}, originRefused},
	{[]string{"Origin: http://localhost:6274", "Origin: https://evil.example"}, originRefused},
	{[]string{"Origin: https://evil.example", "Origin: http://localhost:6274"}, originRefused},
	{[]string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"}, siteRefused},
	{[]string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-User: ?1"}, siteRefused},
	{[]string{"Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors"}, siteRefused},
	{[]string{"Sec-Fetch-Site: CROSS-SITE"}, siteRefused},
	{[]string{"Sec-Fetch-Site: none", "Sec-Fetch-Site: cross-site"}, siteRefused},
	{[]string{"Sec-Fetch-Site: cross-site", "Content-Type: text/plain", "Sec-Fetch-Mode: no-cors"}, siteRefused},
	{[]string{"Origin: https://evil.example", "Content-Type: application/x-www-form-urlencoded", "Sec-Fetch-Mode: navigate"}, originRefused},
	{[]string{
		"Origin: https://evil.example", "Connection: Upgrade, close", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol: mcp",
	}, originRefused},
}

// contentTricks are bodies that a page can send without asking first, by a browser that says nothing of where from.
var contentTricks = []trick{
	{[]string{"Content-Type: text/plain"}, contentRefused},
	{[]string{"Content-Type: text/plain; charset=application/json"}, contentRefused},
	{[]string{"Content-Type: text/plain; application/json"}, contentRefused},
	{[]string{"Content-Type: application/x-www-form-urlencoded"}, contentRefused},
	{[]string{"Content-Type: multipart/form-data; boundary=x"}, contentRefused},
	{[]string{"Content-Type: application/jsonx"}, contentRefused},
	{[]string{"Content-Type: text/plain", "Content-Type: application/json"}, contentRefused},
	{[]string{"Content-Type: application/json", "Content-Type: text/plain"}, contentRefused},
	{[]string{"Content-Type: application/json, text/plain"}, contentRefused},
	{[]string{"Content-Type:"}, contentRefused},
}

// endpoints answer harmless clients; the rest of targets are other ways to write them, or other things on that port.
var (
	endpoints = []string{"/mcp", "/mcp/s/log", "/mcp/w/work"}
	targets   = append([]string{
		"/mcp/", "//mcp", "/%6dcp", "/mcp%2f", "/mcp/%73/log", "/./mcp", "/x/../mcp", "/mcp?compact", "/mcp/../mcp/s/log", "/metrics", "/", "*",
		"http://127.0.0.1:PORT/mcp",
	}, endpoints...)
	methods = []string{http.MethodPost, http.MethodGet, http.MethodDelete, http.MethodPut, http.MethodOptions}
)

// wishes are the messages that the tricks carry: each would leave a trace.
var wishes = []string{
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"log__roll","arguments":{"sides":6}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"roll","arguments":{"sides":6}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exec-lua","arguments":{"computer":"7:victim","code":"return 1"}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"evil","version":"1"}}}`,
	`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"log__roll","arguments":{"sides":6}}}]`,
}
