package mcp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/traposd/traposd/mcp"
)

func TestGuard(t *testing.T) {
	called := false
	b := newBed(t, mcp.Options{AllowedHosts: []string{"box.lan", "proxy.lan:8443"}, AllowedOrigins: []string{"https://app.example", "chrome-extension://*"}},
		mcp.Entry{ID: "s", Name: "s", Server: serverFunc(nil)})
	b.web.Config.Handler = b.Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { called = true; w.WriteHeader(http.StatusNoContent) }))
	for _, test := range []struct {
		name    string
		headers []string
		want    string // part of the refusal; empty: let through
	}{
		{"as it comes", nil, ""},
		{"localhost", []string{"Host", "localhost"}, ""},
		{"LOCALHOST.", []string{"Host", "LOCALHOST.:4445"}, ""},
		{"127.0.0.1", []string{"Host", "127.0.0.1:1"}, ""},
		{"127.8.9.10", []string{"Host", "127.8.9.10"}, ""},
		{"[::1]", []string{"Host", "[::1]"}, ""},
		{"[::1]:4445", []string{"Host", "[::1]:4445"}, ""},
		{"mapped", []string{"Host", "[::ffff:127.0.0.1]:4445"}, ""},
		{"rebinding", []string{"Host", "evil.example:4445"}, "header Host"},
		{"localhost of another domain", []string{"Host", "localhost.evil.example"}, "allowedHosts"},
		{"an address that is not ours", []string{"Host", "192.168.1.1"}, "header Host"},
		{"any address", []string{"Host", "0.0.0.0:4445"}, "header Host"},
		{"allowed", []string{"Host", "BOX.lan"}, ""},
		{"allowed, any port", []string{"Host", "box.lan:1234"}, ""},
		{"allowed at a port", []string{"Host", "proxy.lan:8443"}, ""},
		{"allowed at another port", []string{"Host", "proxy.lan:1"}, "header Host"},

		{"a page on loopback", []string{"Origin", "http://localhost:6274", "Sec-Fetch-Site", "cross-site"}, ""},
		{"a page on ::1", []string{"Origin", "http://[::1]:6274"}, ""},
		{"an editor", []string{"Origin", "vscode-webview://1abc", "Sec-Fetch-Site", "cross-site"}, ""},
		{"an allowed page", []string{"Origin", "https://app.example"}, ""},
		{"an allowed scheme", []string{"Origin", "chrome-extension://abc"}, ""},
		{"a page", []string{"Origin", "https://evil.example"}, "header Origin"},
		{"a page of a like name", []string{"Origin", "https://app.example.evil.example"}, "allowedOrigins"},
		{"a page at another port", []string{"Origin", "https://app.example:444"}, "header Origin"},
		{"a sandboxed page", []string{"Origin", "null"}, "header Origin"},
		{"a file", []string{"Origin", "file://"}, "header Origin"},
		{"two origins", []string{"Origin", "http://localhost", "Origin", "https://evil.example"}, "header Origin"},
		{"loopback as a user", []string{"Origin", "http://localhost@evil.example"}, "header Origin"},
		{"no origin, cross-site", []string{"Sec-Fetch-Site", "cross-site"}, "Sec-Fetch-Site"},
		{"no origin, same-site", []string{"Sec-Fetch-Site", "same-site"}, "Sec-Fetch-Site"},
		{"no origin, cross-site in capitals", []string{"Sec-Fetch-Site", "Cross-Site"}, "Sec-Fetch-Site"},
		{"no origin, two sites", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Site", "cross-site"}, "Sec-Fetch-Site"},
		{"typed in", []string{"Sec-Fetch-Site", "none"}, ""},
	} {
		called = false
		a := b.send(t, http.MethodPost, "{}", test.headers...)
		if test.want == "" {
			if !called {
				t.Errorf("%s: %d %s", test.name, a.status, a.body)
			}
			continue
		}
		if called || a.status != http.StatusForbidden || !strings.Contains(a.body, test.want) || !strings.Contains(a.body, `"code":-31019`) {
			t.Errorf("%s: called: %v, %d %s, want …%s…", test.name, called, a.status, a.body, test.want)
		}
	}
}

func TestWhatIsAllowedCanChange(t *testing.T) {
	b := newBed(t, mcp.Options{AllowedHosts: []string{"old.lan"}})
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	equal(t, "before", b.post(t, ping, "Host", "old.lan").status, http.StatusOK)
	b.Allow([]string{"new.lan"}, []string{"https://app.example"})
	equal(t, "the old one", b.post(t, ping, "Host", "old.lan").status, http.StatusForbidden)
	equal(t, "the new one", b.post(t, ping, "Host", "new.lan", "Origin", "https://app.example").status, http.StatusOK)
}

func TestGuardOfPreflights(t *testing.T) {
	b := newBed(t, mcp.Options{Token: func() string { return "secret" }})
	a := b.send(t, http.MethodOptions, "", "Origin", "http://localhost:6274", "Access-Control-Request-Method", "POST")
	equal(t, "status", a.status, http.StatusNoContent)
	equal(t, "origin", a.header.Get("Access-Control-Allow-Origin"), "http://localhost:6274")
	a = b.send(t, http.MethodOptions, "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST")
	equal(t, "status", a.status, http.StatusForbidden)
	equal(t, "origin", a.header.Get("Access-Control-Allow-Origin"), "")
}

func TestGuardOfTheToken(t *testing.T) {
	token := "s3cret"
	b := newBed(t, mcp.Options{Token: func() string { return token }})
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for header, status := range map[string]int{
		"":               http.StatusUnauthorized,
		"Bearer s3cret":  http.StatusOK,
		"bearer  s3cret": http.StatusOK,
		"Bearer s3cre":   http.StatusUnauthorized,
		"Bearer":         http.StatusUnauthorized,
		"Basic s3cret":   http.StatusUnauthorized,
		"s3cret":         http.StatusUnauthorized,
	} {
		a := b.post(t, ping, "Authorization", header)
		if a.status != status || strings.Contains(a.body, token) {
			t.Errorf("%q: %d %s, want %d", header, a.status, a.body, status)
		}
		if challenge := a.header.Get("WWW-Authenticate"); (status == http.StatusUnauthorized) != (challenge == "Bearer") {
			t.Errorf("%q: WWW-Authenticate is %q", header, challenge)
		}
	}
	token = ""
	equal(t, "without a token", b.post(t, ping).status, http.StatusOK)
}

func TestGuardRepeatsNoControlCharacters(t *testing.T) {
	guard := &mcp.Guard{}
	handler := guard.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/", nil)
	r.Host = "\x1b[2Jevil"
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	equal(t, "status", w.Code, http.StatusForbidden)
	if strings.ContainsRune(w.Body.String(), 0x1b) {
		t.Errorf("a control character of the header is repeated: %q", w.Body.String())
	}
}
