package craftos

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// Limits of HTTP, those of CC:Tweaked's default configuration.
const (
	maxUpload    = 4 << 20
	maxDownload  = 16 << 20
	maxRedirects = 16
)

// openHTTP installs the natives of the http API; the rom builds get, post and the synchronous forms on them.
func (m *machine) openHTTP() {
	if m.computer.opts.DisableHTTP {
		return
	}
	lib := newTable()
	m.setFuncs(lib, map[string]lua.LGFunction{
		"request": m.net.httpRequest, "checkURL": m.net.checkURL, "websocket": m.net.websocket,
	})
	m.root.SetGlobal("http", lib)
}

// checkURL is the native http.checkURL(url): the answer comes as an http_check event.
func (n *network) checkURL(l *lua.LState) int {
	address := checkString(l, 1)
	u, err := parseURL(address, "http", "https")
	if err != nil {
		l.Push(lua.LFalse)
		l.Push(lua.LString(err.Error()))
		return 2
	}
	n.start(func() {
		ctx, cancel := context.WithTimeout(n.machine.ctx, defaultTimeout)
		defer cancel()
		if _, err := n.resolve(ctx, u.Hostname()); err != nil {
			n.machine.queue.push("http_check", address, false, friendly(err).Error())
			return
		}
		n.machine.queue.push("http_check", address, true)
	})
	l.Push(lua.LTrue)
	return 1
}

// httpCall is one HTTP request as a program asked for it.
type httpCall struct {
	address, method, body string
	headers               http.Header
	redirect              bool
	timeout               time.Duration
}

// httpRequest is the native http.request{url, body, headers, method, redirect, timeout}.
func (n *network) httpRequest(l *lua.LState) int {
	options := checkTable(l, 1)
	text := func(name string) string { return lua.LVAsString(options.RawGetString(name)) }
	call := httpCall{
		address: text("url"), method: strings.ToUpper(text("method")), body: text("body"), timeout: defaultTimeout,
		redirect: options.RawGetString("redirect") != lua.LFalse,
	}
	if options.RawGetString("body") != lua.LNil && call.method == "" {
		call.method = http.MethodPost
	} else if call.method == "" {
		call.method = http.MethodGet
	}
	if seconds, ok := options.RawGetString("timeout").(lua.LNumber); ok {
		call.timeout = timeoutOf(float64(seconds))
	}
	l.Push(options.RawGetString("headers"))
	call.headers = headerTable(l, l.GetTop())
	u, err := parseURL(call.address, "http", "https")
	if err == nil && len(call.body) > maxUpload {
		err = gameError("Request body is too large")
	}
	if err == nil {
		err = n.reserveRequest()
	}
	if err != nil {
		l.Push(lua.LFalse)
		l.Push(lua.LString(err.Error()))
		return 2
	}
	n.start(func() { n.perform(u, call) })
	l.Push(lua.LTrue)
	return 1
}

func (n *network) reserveRequest() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiting >= maxHTTPQueue {
		return gameError("Too many ongoing HTTP requests")
	}
	n.waiting++
	return nil
}

func (n *network) perform(u *url.URL, call httpCall) {
	defer func() {
		n.mu.Lock()
		n.waiting--
		n.mu.Unlock()
	}()
	select {
	case n.requests <- struct{}{}:
		defer func() { <-n.requests }()
	case <-n.machine.ctx.Done():
		return
	}
	got, err := n.exchange(u, call)
	q := n.machine.queue
	switch {
	case err != nil:
		q.push("http_failure", call.address, friendly(err).Error())
	case got.code >= http.StatusBadRequest:
		q.push("http_failure", call.address, got.phrase, maker(got.handle))
	default:
		q.push("http_success", call.address, maker(got.handle))
	}
}

// httpAnswer is a response that was read whole.
type httpAnswer struct {
	code    int
	phrase  string
	headers http.Header
	body    []byte
}

func (n *network) exchange(u *url.URL, call httpCall) (*httpAnswer, error) {
	ctx, cancel := context.WithTimeout(n.machine.ctx, call.timeout)
	defer cancel()
	transport := &http.Transport{
		DialContext: n.dial, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeaderBytes, TLSHandshakeTimeout: call.timeout,
		TLSClientConfig: n.tlsConfig(""),
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		switch {
		case !call.redirect:
			return http.ErrUseLastResponse
		case len(via) >= maxRedirects:
			return gameError("Too many redirects")
		}
		return nil
	}}
	request, err := http.NewRequestWithContext(ctx, call.method, u.String(), strings.NewReader(call.body))
	if err != nil {
		return nil, errURLMalformed
	}
	request.Header = call.headers
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", userAgent)
	}
	if call.body != "" && request.Header.Get("Content-Type") == "" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	}
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxDownload+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the body: %w", err)
	case len(body) > maxDownload:
		return nil, errTooLarge
	}
	_, phrase, _ := strings.Cut(response.Status, " ")
	return &httpAnswer{code: response.StatusCode, phrase: phrase, headers: response.Header, body: body}, nil
}

// handle makes the Lua table of a response.
func (a *httpAnswer) handle(m *machine) lua.LValue {
	h := &fileHandle{machine: m, disk: m.computer.disk, file: memoryFile{&node{content: a.body}}, uncounted: true}
	t := h.table(true, false)
	m.setFuncs(t, map[string]lua.LGFunction{
		"getResponseCode": func(l *lua.LState) int {
			l.Push(lua.LNumber(a.code))
			l.Push(lua.LString(a.phrase))
			return 2
		},
		"getResponseHeaders": func(l *lua.LState) int {
			headers := newTable()
			for name, values := range a.headers {
				headers.RawSetString(name, lua.LString(strings.Join(values, ",")))
			}
			l.Push(headers)
			return 1
		},
	})
	return t
}
