package upstream

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
	"github.com/traposd/traposd/mcpconfig"
)

// misdeed is one way for a server to misbehave.
type misdeed struct {
	name   string
	server func(t *testing.T) mcpconfig.Server // gets a name of its own
	state  State                               // where it ends up; empty: it works, and its tool "pid" or "t" can be called
	do     func(t *testing.T, b *bench, e mcp.Entry)
	says   string // the one line that is logged about it; empty: nothing is expected
}

// stdioMisdeeds are those of child processes, by the switches of badserver.
func stdioMisdeeds() []misdeed {
	child := func(mode string) func(t *testing.T) mcpconfig.Server {
		return func(t *testing.T) mcpconfig.Server {
			t.Helper()
			return helper(t, "bad", strings.ReplaceAll(mode, "FILE", t.TempDir()+"/pid"))
		}
	}
	list := []misdeed{
		{name: "slow to start", server: child("slow-start=4000")},
		{name: "slow to answer", server: child("ok"), do: calls(`slow {"ms":4000}`)},
		{name: "noise on stdout", server: child("noise"), do: calls(`noisy-result {}`), says: "no JSON-RPC message"},
		{name: "flood on stdout", server: child("stdout-flood"), says: "no JSON-RPC message"},
		{name: "flood on stderr", server: child("stderr-flood")},
		{name: "says again and again that its tools changed", server: child("notify-flood")},
		{name: "asks 500 things at once", server: child("ask-flood")},
		{name: "asks before it is asked", server: child("ask-roots")},
		{name: "much progress", server: child("ok"), do: calls(`progress {"n":2000}`)},
		{name: "exits on unknown methods", server: child("exit-unknown")},
		{name: "never answers", server: child("silent"), state: StateStarting},
		{name: "exits at once", server: child("fail=npm_error_404"), state: StateBackingOff},
		{name: "crashes in the handshake", server: child("crash-after=initialize"), state: StateBackingOff},
		{name: "crashes after the handshake", server: child("crash-after=tools/list"), state: StateBackingOff},
		{name: "crashes in every call", server: child("ok"), do: failing(2, `exit {"code":7}`, mcp.CodeServerDown)},
		{name: "ignores the end of stdin and SIGTERM", server: child("ignore-eof ignore-term")},
		{name: "has a grandchild", server: child("grandchild=FILE ignore-eof")},
		{name: "has a grandchild in another session", server: child("setsid-grandchild=FILE")},
		{name: "answers with ids as strings", server: child("string-ids")},
		{name: "answers with ids as fractions", server: child("float-ids")},
		{name: "answers notifications", server: child("answer-notifications"), do: calls(`progress {"n":3}`)},
		{name: "asks under no id", server: child("ok"), do: calls(`ask {"id":null,"method":"ping"}`), says: "no JSON-RPC message"},
		{name: "answers twice", server: child("answer-twice")},
		{name: "answers too late", do: failing(2, `slow {"ms":60}`, mcp.CodeTimeout), server: func(t *testing.T) mcpconfig.Server {
			t.Helper()
			s := child("ignore-cancel")(t)
			s.Timeout = 30 * time.Millisecond
			return s
		}},
		{name: "an old revision", server: child("version=2024-11-05")},
		{name: "an unknown revision", server: child("version=2029-01-01"), says: "unknown protocol revision"},
		{name: "pages that repeat", server: child("page-loop"), do: checkPages, says: "pages repeat"},
		{name: "bad schemas", server: child("bad-schemas"), do: checkSchemas, says: "definitions of the server were left out"},
		{name: "an odd name", server: child("tool=a.b/c:déjà__vu"), do: checkTools(11)},
		{name: "2000 tools", server: child("tools=2000"), do: checkTools(2010)},
		{name: "big results", server: child("ok"), do: calls(`big {"bytes":` + strconv.Itoa(4000000/slowdown) + `}`)},
		{name: "a result above the limit", server: child("ok"), do: failing(1, `big {"bytes":33554433}`, mcp.CodeTooLarge)},
		{name: "a command that is not there", state: StateBackingOff, server: func(t *testing.T) mcpconfig.Server {
			t.Helper()
			s := child("ok")(t)
			s.Command = mcpconfig.NewSecret("/nonexistent/command")
			return s
		}},
	}
	return list
}

// remoteMisdeeds are those of servers over HTTP.
func remoteMisdeeds() []misdeed {
	served := func(transport mcpconfig.Transport, h http.HandlerFunc) func(t *testing.T) mcpconfig.Server {
		return func(t *testing.T) mcpconfig.Server {
			t.Helper()
			return remoteServer("bad", serve(t, h), transport)
		}
	}
	faking := func(f *fake) func(t *testing.T) mcpconfig.Server {
		return func(t *testing.T) mcpconfig.Server {
			t.Helper()
			f := &fake{t: t, before: f.before, get: f.get}
			return remoteServer("bad", serve(t, f), mcpconfig.TransportHTTP)
		}
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", code) }
	}
	stream := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, text)
			w.(http.Flusher).Flush()
			if !strings.HasSuffix(text, "\n\n") {
				return
			}
			<-r.Context().Done()
		}
	}
	elsewhere := func(http.ResponseWriter, *http.Request) {}
	forgets := onCall(func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) {
		http.Error(w, "no session", http.StatusNotFound)
	})
	nothing := onCall(func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":99999,"result":{}}`)
	})
	breaks := onCall(func(http.ResponseWriter, *http.Request, *wire.Message) { panic(http.ErrAbortHandler) })
	ends := &fake{get: func(w http.ResponseWriter, r *http.Request) { stream("")(w, r) }}
	return []misdeed{
		{name: "forgets every session", server: faking(forgets), do: failing(2, `t {}`, mcp.CodeServerDown)},
		{name: "answers somebody else", server: faking(nothing), do: failing(2, `t {}`, mcp.CodeServerDown)},
		{name: "breaks the connection in every call", server: faking(breaks), do: failing(2, `t {}`, mcp.CodeServerDown)},
		{name: "refuses the GET stream", server: faking(&fake{})},
		{name: "ends the GET stream at once", server: faking(ends)},
		{name: "hangs", server: served(mcpconfig.TransportHTTP, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}), state: StateStarting},
		{name: "401", server: served(mcpconfig.TransportHTTP, status(401)), state: StateNeedsLogin},
		{name: "429", server: served(mcpconfig.TransportHTTP, status(429)), state: StateBackingOff},
		{name: "503", server: served(mcpconfig.TransportHTTP, status(503)), state: StateBackingOff},
		{name: "a web page", server: served(mcpconfig.TransportHTTP, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }), state: StateBackingOff},
		{name: "an endless event", server: served(mcpconfig.TransportHTTP, stream("data: "+strings.Repeat("x", 4<<20))), state: StateBackingOff},
		{name: "redirects in a circle", server: served(mcpconfig.TransportHTTP, http.RedirectHandler("/", http.StatusTemporaryRedirect).ServeHTTP), state: StateBackingOff},
		{name: "redirects to another origin", state: StateBackingOff, server: func(t *testing.T) mcpconfig.Server {
			t.Helper()
			return served(mcpconfig.TransportHTTP, http.RedirectHandler(serve(t, http.HandlerFunc(elsewhere)), http.StatusTemporaryRedirect).ServeHTTP)(t)
		}},
		{name: "an endpoint of another origin", server: served(mcpconfig.TransportSSE, stream("event: endpoint\ndata: http://127.0.0.2:1/\n\n")), state: StateBackingOff},
		{name: "an endpoint that is never named", server: served(mcpconfig.TransportSSE, stream(": hello\n\n")), state: StateStarting},
		{name: "an SSE stream that ends", server: served(mcpconfig.TransportSSE, stream("event: endpoint\ndata: /x\n")), state: StateBackingOff},
		{name: "nothing listens", server: func(*testing.T) mcpconfig.Server {
			return remoteServer("bad", "http://127.0.0.1:1/", mcpconfig.TransportHTTP)
		}, state: StateBackingOff},
		{name: "no such host", server: func(*testing.T) mcpconfig.Server {
			return remoteServer("bad", "http://server.invalid/", mcpconfig.TransportHTTP)
		}, state: StateBackingOff},
	}
}

// What a call of the healthy server may take while another one misbehaves. A busy machine stays far below; what waits for
// the other server's start, answer or end does not: the slow ones of those take four seconds in this test, and the silent
// ones much longer.
const (
	slowerTimes  = 10 // than the same without the other one, or …
	slowestP99   = 250 * time.Millisecond
	slowestCall  = 2500 * time.Millisecond
	leastSamples = 100
	repetitions  = 3 // a dependency shows every time, a hiccup of the machine does not
)

// neighbour is a healthy server that is called all the time.
type neighbour struct {
	b    *bench
	e    mcp.Entry
	calm latency // without any other
}

// latency is how long calls took.
type latency struct {
	calls             int
	median, p99, most time.Duration
}

// watch calls until the channel is closed, and leastSamples times at least. Not one call may fail.
func (n *neighbour) watch(t *testing.T, until <-chan struct{}) latency {
	t.Helper()
	var took []time.Duration
	for len(took) < leastSamples || !isClosed(until) {
		begun := time.Now()
		if _, err := n.b.call(n.e, "echo", `{}`); err != nil {
			t.Errorf("a call of the healthy server: %v", err)
			break
		}
		took = append(took, time.Since(begun))
	}
	if len(took) == 0 {
		return latency{}
	}
	slices.Sort(took)
	return latency{len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1]}
}

func (n *neighbour) isSlow(l latency) bool {
	return l.p99 > max(slowerTimes*n.calm.p99, slowestP99) || l.most > max(slowerTimes*n.calm.most, slowestCall)
}

// TestMisbehaviourBesideAHealthyServer shows that what one server does costs the others nothing: not a call, and no time.
func TestMisbehaviourBesideAHealthyServer(t *testing.T) {
	b := start(t, func(o *Options) { o.Times.StdinClose, o.Times.Terminate = 2*time.Second, 2*time.Second })
	good := helper(t, "good", "ok")
	b.r.Reconcile([]mcpconfig.Server{good})
	n := neighbour{b: b, e: b.offered("good")}
	pid := b.status("good").PID
	over := make(chan struct{})
	close(over)
	n.calm = n.watch(t, over)
	for i, m := range append(stdioMisdeeds(), remoteMisdeeds()...) {
		t.Run(m.name, func(t *testing.T) {
			b.t = t
			var during latency
			for again := range repetitions {
				bad := m.server(t)
				bad.Name = "bad" + itoa(i) + "-" + itoa(again)
				if during = m.beside(t, &n, good, bad); !n.isSlow(during) {
					t.Logf("calls of the healthy server: %+v; without the other: %+v", during, n.calm)
					return
				}
			}
			t.Errorf("calls of the healthy server, every time: %+v; without the other: %+v", during, n.calm)
		})
		b.t = t
	}
	if s := b.status("good"); s.PID != pid || s.Restarts != 0 || s.State != StateReady {
		t.Errorf("in the end: %+v", s)
	}
}

// beside starts a misbehaving server, meets it, and removes it, which ends beside the next one. It tells how long the
// calls of the healthy server took meanwhile.
func (m misdeed) beside(t *testing.T, n *neighbour, good, bad mcpconfig.Server) latency {
	t.Helper()
	b := n.b
	b.logs.TakeAll()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if out := b.r.Reconcile([]mcpconfig.Server{good, bad}); len(out.Unchanged) != 1 || len(out.Started) != 1 {
			t.Errorf("outcome %+v", out)
		}
		m.meet(t, b, bad.Name)
		b.r.Reconcile([]mcpconfig.Server{good})
	}()
	during := n.watch(t, done)
	<-done
	if m.says != "" && b.logged(m.says) != 1 {
		t.Errorf("%q was logged %d times", m.says, b.logged(m.says))
	}
	return during
}

// meet does with a misbehaving server what it is about; it runs beside the test's goroutine.
func (m misdeed) meet(t *testing.T, b *bench, name string) {
	t.Helper()
	if m.state != "" {
		if !b.comes(func() bool { return b.status(name).State == m.state }) {
			t.Errorf("status %+v", b.status(name))
		}
		return
	}
	var e mcp.Entry
	if !b.comes(func() (ok bool) { e, ok = b.entry(name); return ok }) {
		t.Errorf("it offers nothing: %+v", b.status(name))
		return
	}
	if m.do != nil {
		m.do(t, b, e)
	} else if _, err := b.call(e, e.Tools[min(2, len(e.Tools)-1)].Name, `{}`); err != nil {
		t.Errorf("calling it: %v", err)
	}
}

// calls makes one call that works.
func calls(call string) func(t *testing.T, b *bench, e mcp.Entry) {
	tool, arguments, _ := strings.Cut(call, " ")
	return func(t *testing.T, b *bench, e mcp.Entry) {
		t.Helper()
		if _, err := b.call(e, tool, arguments); err != nil {
			t.Errorf("calling it: %v", err)
		}
	}
}

// failing makes a call that fails as often as is said.
func failing(times int, call string, code int64) func(t *testing.T, b *bench, e mcp.Entry) {
	tool, arguments, _ := strings.Cut(call, " ")
	return func(t *testing.T, b *bench, e mcp.Entry) {
		t.Helper()
		for range times {
			if _, err := b.call(e, tool, arguments); codeOf(err) != code {
				t.Errorf("calling it: %v, want code %d", err, code)
			}
		}
	}
}

func checkTools(n int) func(t *testing.T, b *bench, e mcp.Entry) {
	return func(t *testing.T, b *bench, e mcp.Entry) {
		t.Helper()
		if len(e.Tools) != n {
			t.Errorf("%d tools", len(e.Tools))
		}
		_, err := b.call(e, e.Tools[n-1].Name, `{}`)
		if code := codeOf(err); code != -32602 { // the server's own answer
			t.Errorf("calling %s: %v", e.Tools[n-1].Name, err)
		}
	}
}

func checkPages(t *testing.T, b *bench, e mcp.Entry) {
	t.Helper()
	if n := len(e.Tools); n < 2 || n > 20 {
		t.Errorf("%d tools", n)
	}
	calls(`pid {}`)(t, b, e)
}

func checkSchemas(t *testing.T, _ *bench, e mcp.Entry) {
	t.Helper()
	names := toolNames(e)
	for _, name := range []string{"none", "null", "untyped", "union", "true"} {
		i := slices.Index(names, name)
		if i < 0 {
			t.Errorf("tool %s was left out", name)
			continue
		}
		schema, _ := wire.Get(e.Tools[i].Raw, "inputSchema")
		if kind, _ := wire.Get(schema, "type"); string(kind) != `"object"` {
			t.Errorf("tool %s has schema %s", name, schema)
		}
	}
	if has(names, "string") || has(names, "array") || has(names, "") {
		t.Errorf("tools %v", names)
	}
}
