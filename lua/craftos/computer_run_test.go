package craftos

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// start runs a computer in the background; done gives what Run returned.
func start(t *testing.T, opts Options, program string) (c *Computer, done chan error) {
	t.Helper()
	c = newComputer(t, opts)
	if err := c.WriteFile("startup.lua", []byte(program)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
	done = make(chan error, 1)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		done <- c.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-finished
	})
	return c, done
}

// waitFor waits until the screen has a text.
func waitFor(t *testing.T, c *Computer, text string) {
	t.Helper()
	deadline := time.After(runTimeout)
	for !strings.Contains(strings.Join(c.Screen(), "\n"), text) {
		select {
		case <-c.Changed():
		case <-deadline:
			t.Fatalf("the screen never showed %q:\n%s", text, strings.Join(c.Screen(), "\n"))
		}
	}
}

func TestRunEnds(t *testing.T) {
	busy := `print("busy") while true do pcall(function() while true do end end) end`
	pattern := `print("busy") while true do pcall(string.find, ("a"):rep(5000), ".-.-.-.-.-.-b") end`
	waiting := `print("busy") local t = {} for i = 1, 50 do t[i] = coroutine.wrap(function() coroutine.yield() end) t[i]() end os.pullEvent("never")`
	for name, program := range map[string]string{"busy": busy, "in a pattern": pattern, "waiting": waiting} {
		t.Run(name, func(t *testing.T) {
			c, done := start(t, Options{}, program)
			waitFor(t, c, "busy")
			if err := c.Run(t.Context()); !errors.Is(err, ErrRunning) {
				t.Errorf("a second run: %v", err)
			}
			c.Shutdown()
			if err := <-done; err != nil {
				t.Errorf("run: %v", err)
			}
		})
	}
	t.Run("with the context", func(t *testing.T) {
		c := newComputer(t, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		waitFor(t, c, "CraftOS")
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v", err)
		}
		c.QueueEvent("to nobody")
	})
}

func TestEventsFromOutside(t *testing.T) {
	c, done := start(t, Options{}, `
		print("ready")
		local _, s, n, b, list, map, none = os.pullEvent("outside")
		print(s, n, b, list[2], map.key, none)
		os.pullEvent("reboot") -- held Ctrl+R
	`)
	waitFor(t, c, "ready")
	c.QueueEvent("outside", "text", 4, true, []any{1, "two"}, map[string]any{"key": 5.5}, struct{}{})
	waitFor(t, c, "text 4 true two 5.5 nil")
	if err := c.WriteFile("startup.lua", []byte(`print("again") os.pullEvent("key") os.shutdown()`)); err != nil {
		t.Fatal(err)
	}
	c.Reboot()
	waitFor(t, c, "again")
	c.Key(KeyEnter)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestTerminateAtThePromptTurnsOff(t *testing.T) {
	c, done := start(t, Options{}, ``)
	waitFor(t, c, ">")
	c.Terminate()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if text := strings.Join(c.Screen(), "\n"); !strings.Contains(text, "Terminated\nGoodbye") {
		t.Errorf("screen:\n%s", text)
	}
}

func TestTimersKeepTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		bootSnippetWithin(t, Options{}, time.Hour, `
			local start = os.epoch("utc")
			sleep(0) same(50, os.epoch("utc") - start)   -- one tick at least
			sleep(0.12) same(200, os.epoch("utc") - start) -- whole ticks
			sleep(20 * 60 / 24) same(200 + 50000, os.epoch("utc") - start)
			check(os.time() >= 7 and os.time() < 7.1, os.time())
			os.setAlarm(6.5) os.pullEvent("alarm") same(2, os.day()) check(math.abs(os.time() - 6.5) < 0.01, os.time())
		`)
		if passed := time.Since(began); passed < 19*time.Minute || passed > 21*time.Minute {
			t.Errorf("a day of the game took %v", passed)
		}
	})
}

func TestSecureConnections(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "safe") }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes are meant
	server.StartTLS()
	defer server.Close()
	bootSnippet(t, Options{AllowPrivate: true}, fmt.Sprintf(`
		local url = %q
		local r, e = http.get(url) same(nil, r) same("Could not create a secure connection", e)
		local ok, e = http.websocket((url:gsub("^http", "ws"))) same(false, ok) same("Could not create a secure connection", e)
	`, server.URL))
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	bootSnippet(t, Options{AllowPrivate: true, RootCAs: roots}, fmt.Sprintf(`
		local url = %q
		same("safe", http.get(url).readAll())
		local ok, e = http.websocket((url:gsub("^http", "ws"))) same(false, ok) same("Invalid handshake response", e)
	`, server.URL))
}

func TestLanguageBeyondGopherLua(t *testing.T) {
	t.Parallel()
	bootSnippet(t, Options{}, `
		same("A\195\169", load([[return "\x41\u{e9}"]])()) same("ab", load('return "a\\z \n  b"')())
		same("\\x41", load("return [[\\x41]]")()) same("'x", load([[return '\x27x' -- "\x41]])())
		same(nil, (load([[return "\x]]))) same("\\x", load([[return "\\x"]])())
		local function named() return debug.getinfo(1) end
		local info = named()
		same("/startup.lua", info.short_src) same("@/startup.lua", info.source) same(named, info.func)
		same("[C]", debug.getinfo(print and pcall).short_src) same(nil, debug.getinfo(99))
		fails("attempt to index a nil value (field 'b')", function() local a a.b = 1 end)
		fails("attempt to index a nil value (field 'c')", function() local a = {} return a.b.c end)
		fails("attempt to perform arithmetic on a table value", function() return 1 + {} end)
		fails("attempt to concatenate a nil value", function() return "x" .. nil end)
		fails("attempt to call a nil value", function() none() end)
		same(nil, newproxy) same(nil, module)
		do local i = 0 ::top:: i = i + 1 if i < 3 then goto top end same(3, i) end
		local sparse = {} sparse[3000000] = 1 same(1, sparse[3000000])
		for _ = 1, 3 do local co = coroutine.wrap(function() error({}) end) same("table", type(select(2, pcall(co)))) end
		local n = 0 check(not pcall(function() while true do coroutine.wrap(function() coroutine.yield() end)() n = n + 1 end end)) check(n > 8000, n)
	`)
}
