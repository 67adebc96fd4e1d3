package craftos

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// peer is a WebSocket server whose connections a function of the test serves.
func peer(t *testing.T, upgrader websocket.Upgrader, serve func(*websocket.Conn, *http.Request)) (url string) {
	t.Helper()
	var wg sync.WaitGroup
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wg.Add(1)
		defer wg.Done()
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return // the upgrader has answered
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetReadDeadline(time.Now().Add(runTimeout))
		serve(conn, r)
	}))
	t.Cleanup(func() {
		server.Close()
		wg.Wait()
	})
	return "ws" + strings.TrimPrefix(server.URL, "http")
}

func echo(conn *websocket.Conn, _ *http.Request) {
	for {
		kind, message, err := conn.ReadMessage()
		if err != nil {
			return
		}
		if err := conn.WriteMessage(kind, message); err != nil {
			return
		}
	}
}

func TestWebsocket(t *testing.T) {
	t.Parallel()
	headers := make(chan http.Header, 1)
	url := peer(t, websocket.Upgrader{}, func(conn *websocket.Conn, r *http.Request) {
		headers <- r.Header
		echo(conn, r)
	})
	bootSnippet(t, Options{AllowPrivate: true}, fmt.Sprintf(`
		local url = %q
		check(http.websocketAsync(url, { ["X-Test"] = "yes" }))
		local event, from, ws = os.pullEvent() same("websocket_success", event) same(url, from)
		ws.send("h\195\169llo")
		local event, from, text, binary = os.pullEvent() same("websocket_message", event) same(url, from) same("h\195\169llo", text) same(false, binary)
		ws.send("\0\255", true) local _, _, text, binary = os.pullEvent("websocket_message") same("\0\255", text) same(true, binary)
		ws.send("a\255b\195") same("a\239\191\189b\239\191\189", ws.receive())
		ws.send(("x"):rep(131072)) same(131072, #ws.receive())
		fails("Message is too large", ws.send, ("x"):rep(131073))
		same(nil, ws.receive(0.05))
		ws.close()
		fails("attempt to use a closed file", ws.send, "x") fails("attempt to use a closed file", ws.close)
		-- Our own close gives no event.
		local t = os.startTimer(0.2) repeat local event, id = os.pullEvent() check(event ~= "websocket_closed") until id == t
	`, url))
	h := <-headers
	if h.Get("X-Test") != "yes" || h.Get("Origin") != "" || h.Get("User-Agent") != userAgent ||
		!strings.Contains(h.Get("Sec-Websocket-Extensions"), "permessage-deflate") {
		t.Errorf("headers: %v", h)
	}
}

func TestFramesAsTheGameSeesThem(t *testing.T) {
	url := peer(t, websocket.Upgrader{}, func(conn *websocket.Conn, r *http.Request) {
		raw := conn.NetConn()
		write := func(frames ...string) {
			for _, f := range frames {
				_, _ = io.WriteString(raw, f)
			}
		}
		switch r.URL.Path {
		case "/fragments":
			write("\x01\x05first", "\x00\x06second", "\x80\x05third", "\x81\x05whole")
			_, _, _ = conn.ReadMessage()
		case "/close":
			_ = conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(4401, "wrong password"))
			_, _, _ = conn.ReadMessage()
		case "/large":
			_ = conn.WriteMessage(websocket.TextMessage, make([]byte, DefaultMaxMessage+1))
			_, _, _ = conn.ReadMessage()
		case "/garbage":
			write("\xff\xff\xff\xff")
			_, _, _ = conn.ReadMessage()
		case "/ping":
			_ = conn.WriteMessage(websocket.PingMessage, []byte("p"))
			conn.SetPongHandler(func(data string) error { return conn.WriteMessage(websocket.TextMessage, []byte("pong "+data)) })
			_, _, _ = conn.ReadMessage()
		}
	})
	bootSnippet(t, Options{AllowPrivate: true}, fmt.Sprintf(`
		local base = %q
		local function open(path) local ws = assert(http.websocket(base .. path)) return ws end
		-- There is no aggregator: what follows the first fragment is dropped.
		local ws = open("/fragments") same("first", ws.receive()) same("whole", ws.receive()) ws.close()
		local function closed(path, reason, code)
			open(path)
			local _, url, r, c = os.pullEvent("websocket_closed")
			same(base .. path, url) same(reason, r) same(code, c)
		end
		closed("/close", "wrong password", 4401)
		closed("/large", "Could not connect", nil)
		closed("/garbage", "Could not connect", nil)
		closed("/drop", "Connection closed", nil)
		local ws = open("/ping") same("pong p", ws.receive())
	`, url))
}

func TestConnectionsThatFail(t *testing.T) {
	compressing := peer(t, websocket.Upgrader{EnableCompression: true}, echo)
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer refusing.Close()
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	snippet := fmt.Sprintf(`
		local compressing, refusing, silent = %q, %q, %q
		local function failed(url, want) local ok, e = http.websocket(url) same(false, ok) same(want, e) end
		failed(compressing, "Could not connect")
		failed(refusing, "Invalid handshake response")
		failed("ws://127.0.0.1:1", "Could not connect")
		failed("http://x", "Invalid protocol 'http'") failed("x y", "URL malformed") failed("ws://", "URL malformed")
		local ok, e = http.websocket({ url = silent, timeout = 0.1 }) same(false, ok) same("Timed out", e)
		check(not http.websocketAsync("nonsense")) local _, url = os.pullEvent("websocket_failure") same("nonsense", url)
	`, compressing, "ws"+strings.TrimPrefix(refusing.URL, "http"), "ws://"+silent.Addr().String())
	bootSnippet(t, Options{AllowPrivate: true}, snippet)

	bootSnippet(t, Options{}, fmt.Sprintf(`
		for _, url in ipairs({ %q, "ws://10.0.0.1", "ws://192.168.1.1:4444/x", "ws://169.254.1.1", "ws://100.64.0.1", "ws://[fd00::1]", "ws://[::1]" }) do
			local ok, e = http.websocket(url) same(false, ok) same("Domain not permitted", e)
		end
		local ok, e = http.get("http://127.0.0.1:1") same(nil, ok) same("Domain not permitted", e)
		local ok, e = http.checkURL("http://127.0.0.1") same(false, ok) same("Domain not permitted", e)
		check(http.websocketAsync("ws://127.0.0.1")) local _, _, e = os.pullEvent("websocket_failure") same("Domain not permitted", e)
	`, compressing))
	bootSnippet(t, Options{DisableWebsockets: true}, `fails("Websocket connections are disabled", http.websocketAsync, "ws://h")`)
	bootSnippet(t, Options{DisableHTTP: true}, `same(nil, http)`)
}

func TestSocketsAreFour(t *testing.T) {
	url := peer(t, websocket.Upgrader{}, echo)
	bootSnippet(t, Options{AllowPrivate: true}, fmt.Sprintf(`
		local open = {}
		for i = 1, 4 do open[i] = assert(http.websocket(%[1]q .. "?" .. i)) end
		fails("Too many websockets already open", http.websocketAsync, %[1]q)
		open[2].close()
		open[2] = assert(http.websocket(%[1]q .. "?5"))
		open[2].send("still works") same("still works", open[2].receive())
	`, url))
}

// TestRebootDropsSockets: no close frame, but what was sent before arrives.
func TestRebootDropsSockets(t *testing.T) {
	type end struct {
		messages []string
		err      error
	}
	ends := make(chan end, 2)
	url := peer(t, websocket.Upgrader{}, func(conn *websocket.Conn, _ *http.Request) {
		var e end
		for {
			_, message, err := conn.ReadMessage()
			if err != nil {
				e.err = err
				ends <- e
				return
			}
			e.messages = append(e.messages, string(message))
		}
	})
	bootSnippet(t, Options{AllowPrivate: true}, fmt.Sprintf(`
		local ws = assert(http.websocket(%q))
		if not fs.exists("booted") then
			fs.open("booted", "w").close()
			for i = 1, 50 do ws.send("message " .. i) end
			os.reboot()
		end
		ws.send("second boot")
	`, url))
	first, second := <-ends, <-ends
	if len(first.messages) < len(second.messages) {
		first, second = second, first
	}
	if len(first.messages) != 50 || len(second.messages) != 1 {
		t.Errorf("the peer received %d and %d messages, want 50 and 1", len(first.messages), len(second.messages))
	}
	for _, e := range []end{first, second} {
		if !websocket.IsCloseError(e.err, websocket.CloseAbnormalClosure) && !strings.Contains(e.err.Error(), "reset") {
			t.Errorf("the socket ended with %v, want no close frame", e.err)
		}
	}
}

func TestFloodDropsBeyondTheQueue(t *testing.T) {
	url := peer(t, websocket.Upgrader{}, func(conn *websocket.Conn, _ *http.Request) {
		if _, _, err := conn.ReadMessage(); err != nil { // the event of the opening is out of the queue then
			return
		}
		for i := range 600 {
			if conn.WriteMessage(websocket.TextMessage, fmt.Append(nil, i)) != nil {
				return
			}
		}
		_ = conn.WriteMessage(websocket.PingMessage, nil)
		_, _, _ = conn.ReadMessage()
	})
	bootSnippet(t, Options{AllowPrivate: true}, fmt.Sprintf(`
		local ws = assert(http.websocket(%q))
		ws.send("go")
		local busy = os.epoch("utc") + 500
		repeat until os.epoch("utc") > busy
		local n, t = 0, os.startTimer(0.2)
		while true do local event, id = os.pullEvent() if event == "websocket_message" then n = n + 1 elseif id == t then break end end
		same(256, n)
	`, url))
}

func TestUnsentMessagesAreBounded(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	url := peer(t, websocket.Upgrader{}, func(*websocket.Conn, *http.Request) { <-release })
	bootSnippet(t, Options{AllowPrivate: true}, fmt.Sprintf(`
		local ws = assert(http.websocket(%q))
		local text = ("x"):rep(131072)
		fails("Too many ongoing websocket messages", function() for _ = 1, 2000 do ws.send(text) end end)
	`, url))
	close(release)
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Reply", r.Header.Get("X-Ask"))
		_, _ = fmt.Fprintf(w, "%s %s\nsecond", r.Method, body)
	})
	mux.HandleFunc("/missing", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not here", http.StatusNotFound) })
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/ok", http.StatusFound) })
	mux.HandleFunc("/install.lua", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `local f = fs.open("installed", "w") f.write(table.concat({...}, ",") .. tostring(shell ~= nil)) f.close()`)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	bootSnippet(t, Options{AllowPrivate: true}, fmt.Sprintf(`
		local base = %q
		local r = assert(http.get(base .. "/ok", { ["X-Ask"] = "asked" }))
		same(200, (r.getResponseCode())) same("asked", r.getResponseHeaders()["X-Reply"]) same("GET ", r.readLine()) same("second", r.readAll()) r.close()
		same("POST body\nsecond", http.post(base .. "/ok", "body").readAll())
		same("PUT \nsecond", http.get({ url = base .. "/ok", method = "PUT" }).readAll())
		local r, e, handle = http.get(base .. "/missing") same(nil, r) same("Not Found", e) same("not here\n", handle.readAll()) same(404, (handle.getResponseCode()))
		same("GET \nsecond", http.get(base .. "/redirect").readAll()) same(302, (http.get({ url = base .. "/redirect", redirect = false }).getResponseCode()))
		check(http.request(base .. "/ok")) local _, url, r = os.pullEvent("http_success") same(base .. "/ok", url) check(r.readAll())
		check(http.checkURL(base)) local ok, e = http.get("ftp://x") same("Invalid protocol 'ftp'", e) local ok, e = http.get("x") check(e:find("Must specify http"))
		shell.run("wget run " .. base .. "/install.lua a b") same("a,btrue", fs.open("installed", "r").readAll())
		shell.run("wget " .. base .. "/ok got") same("GET \nsecond", fs.open("got", "r").readAll())
	`, server.URL))
}

func TestManyComputers(t *testing.T) {
	const count = 100
	url := peer(t, websocket.Upgrader{}, echo)
	program := fmt.Appendf(nil, `
		local ws = assert(http.websocket(%q))
		ws.send(tostring(os.getComputerID()))
		os.setComputerLabel(ws.receive())
		os.shutdown()
	`, url)
	ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for id := range count {
		c := newComputer(t, Options{ID: id, AllowPrivate: true, AbortAfter: runTimeout}) // each has a hundredth of the machine
		if err := c.WriteFile("startup.lua", program); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if err := c.Run(ctx); err != nil || c.Label() != fmt.Sprint(id) {
				t.Errorf("computer %d: label %q, %v", id, c.Label(), err)
			}
		})
	}
	wg.Wait()
}
