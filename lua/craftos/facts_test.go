package craftos

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// The tests of this file are single facts of the game that no other test of the emulated computer shows.

// Events that a program queues count as those of the network do.
func TestQueuedEventsCount(t *testing.T) {
	bootSnippet(t, Options{}, `
		for i = 1, 300 do os.queueEvent("mine", i) end
		os.queueEvent("last")
		local n, last, timer = 0, 0, nil
		while true do
			local event, i = os.pullEvent()
			if event == "mine" then n, last = n + 1, i elseif event == "last" then error("it was kept") elseif i == timer then break end
			timer = timer or os.startTimer(0.2)
		end
		same(256, n) same(256, last)
	`)
}

// The network layer answers pings whatever the program does; they say nothing about it.
func TestPingsAreAnsweredByTheNetworkLayer(t *testing.T) {
	answered := make(chan string, 1)
	url := peer(t, websocket.Upgrader{}, func(conn *websocket.Conn, _ *http.Request) {
		conn.SetPongHandler(func(data string) error { answered <- data; return errors.New("enough") })
		if _, _, err := conn.ReadMessage(); err != nil { // the program is about to hang
			return
		}
		_ = conn.WriteMessage(websocket.PingMessage, []byte("are you there"))
		_, _, _ = conn.ReadMessage()
	})
	_, done := start(t, Options{AllowPrivate: true, AbortAfter: runTimeout}, fmt.Sprintf(`
		local ws = assert(http.websocket(%q))
		ws.send("hanging")
		while true do end
	`, url))
	select {
	case data := <-answered:
		if data != "are you there" {
			t.Errorf("the pong says %q", data)
		}
	case err := <-done:
		t.Errorf("the computer ended: %v", err)
	case <-time.After(runTimeout):
		t.Error("a ping was not answered while a program hangs")
	}
}

// However a computer goes off, its sockets drop without a close frame.
func TestNoCloseFrameAtTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		ending string
		opts   Options
		want   error
	}{
		"shutdown": {"os.shutdown()", Options{}, nil},
		"abort":    {"while true do pcall(function() while true do end end) end", Options{AbortAfter: 200 * time.Millisecond}, ErrTooLong},
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			url := peer(t, websocket.Upgrader{}, func(conn *websocket.Conn, _ *http.Request) {
				var err error
				for err == nil {
					_, _, err = conn.ReadMessage()
				}
				ended <- err
			})
			c.opts.AllowPrivate = true
			_, done := start(t, c.opts, fmt.Sprintf("local ws = assert(http.websocket(%q)) ws.send('x') sleep(0.1) %s", url, c.ending))
			if err := <-done; !errors.Is(err, c.want) {
				t.Errorf("run: %v, want %v", err, c.want)
			}
			if err := <-ended; websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway) {
				t.Errorf("the socket ended with %v", err)
			}
		})
	}
}

// Two sockets to one address cannot be told apart by their events.
func TestEventsAreKeyedByAddress(t *testing.T) {
	url := peer(t, websocket.Upgrader{}, echo)
	bootSnippet(t, Options{AllowPrivate: true}, fmt.Sprintf(`
		local url = %q
		local a, b = assert(http.websocket(url)), assert(http.websocket(url))
		a.send("to a")
		local _, from = os.pullEvent("websocket_message") same(url, from)
		b.send("to b")
		local _, from = os.pullEvent("websocket_message") same(url, from)
	`, url))
}

func TestConnectTimeout(t *testing.T) {
	for seconds, want := range map[float64]time.Duration{0: 30 * time.Second, -1: 30 * time.Second, 5: 5 * time.Second, 1000: time.Minute} {
		if got := timeoutOf(seconds); got != want {
			t.Errorf("timeout = %v: %v, want %v", seconds, got, want)
		}
	}
	if DefaultAbortAfter != 7*time.Second || DefaultEventLimit != 256 || DefaultMaxMessage != 131_072 || DefaultDiskBytes != 1_000_000 {
		t.Error("the defaults are not the game's")
	}
}

// What Lua 5.3 has and the game's dialect has not.
func TestDialectLacks(t *testing.T) {
	bootSnippet(t, Options{}, `
		for _, source in ipairs({ "return 7 // 2", "return 1 | 2", "return 1 & 2", "return 1 << 2", "return ~1" }) do
			same(nil, (load(source)))
		end
		same(nil, collectgarbage)
		-- The idioms of loops over what is no call, which gopher-lua alone gets wrong.
		local f = fs.open("lines", "w") f.write("one\ntwo\n") f.close()
		local got = {}
		for line in fs.open("lines", "r").readLine do got[#got + 1] = line end
		same("one,two", table.concat(got, ","))
		local h, n = fs.open("lines", "r"), 0
		for line in h.readLine do n = n + #line end
		same(6, n)
		local function iter(s, c) same("state", s) c = c + 1 if c < 4 then return c end end
		local sum = 0 for i in iter, "state", 0 do sum = sum + i end same(6, sum)
		sum = 0 for i in (function() return iter, "state", 0 end)() do sum = sum + i end same(6, sum)
		local calls = 0
		for x in function(s, c) same(nil, s) calls = calls + 1 if calls < 3 then return calls end end do same(calls, x) end
		same(3, calls)
	`)
}

// The label is cut to 32 characters, may hold colons, and may be absent.
func TestLabels(t *testing.T) {
	c := bootSnippet(t, Options{}, `
		same(nil, os.getComputerLabel())
		os.setComputerLabel("a:b:" .. ("x"):rep(40)) same("a:b:" .. ("x"):rep(28), os.getComputerLabel())
	`)
	if len(c.Label()) != MaxLabel {
		t.Errorf("label %q", c.Label())
	}
}

// A program whose parts are nested without end is an error of the program, not the end of the process that runs it.
func TestNestingIsBounded(t *testing.T) {
	bootSnippet(t, Options{}, `
		local n = 30000
		for _, source in ipairs({
			"return " .. ("not "):rep(n) .. "1", "return " .. ("{"):rep(n) .. ("}"):rep(n), ("do "):rep(n) .. ("end "):rep(n),
			"return " .. ("2^"):rep(n) .. "1", "return " .. ("function() return "):rep(n) .. "1" .. (" end"):rep(n),
		}) do
			local fn, problem = load(source)
			same(nil, fn) check(problem:find("too many syntax levels", 1, true), problem)
		end
		same(5000, load("return 0" .. ("+1"):rep(5000))())
		same(150, #load("return 'x'" .. (" .. 'x'"):rep(149))())
		same("ab", load("return (((((((((('a'))))))))))..'b'")())
	`)
}
