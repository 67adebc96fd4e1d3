package lua

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/traposd/traposd/lua/craftos"
)

// replaced is a Lua list of what is replaced while something runs.
const replaced = "{coroutine.resume, coroutine.wrap, os.reboot, os.shutdown, print, write, debug.sethook, term.current()}"

// TestExec runs all of these on one computer, one after another: each must leave it fit for the next.
func TestExec(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	m, p := h.connect(craftos.Options{ID: 12, Label: "miner", Files: disk(t, map[string]string{
		"say.lua":               "print('from a program', ...)",
		"mod.lua":               "return {answer = 42}",
		"startup/01_before.lua": "_G.before = " + replaced,
		"check.lua": "local now, same = " + replaced + ", 0 for i, f in ipairs(now) do if f == _G.before[i] then same = same + 1 end end " +
			"print('same: ' .. same .. ' of ' .. #now)",
	})})
	for _, c := range []struct {
		name string
		test func(*testing.T, *machine, *peer)
	}{
		{"execRoundTrip", execRoundTrip},
		{"execErrorsByKind", execErrorsByKind},
		{"execDeadline", execDeadline},
		{"execGivesWay", execGivesWay},
		{"execEvents", execEvents},
		{"execCancel", execCancel},
		{"execLeavesNothing", execLeavesNothing},
		{"execOutput", execOutput},
		{"execOutputBound", execOutputBound},
		{"execGlobals", execGlobals},
		{"execLimit", execLimit},
		{"execLarge", execLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			m.t, p.t = t, t
			c.test(t, m, p)
		})
	}
	m.t, p.t = t, t
}

func execRoundTrip(t *testing.T, _ *machine, p *peer) {
	if p.hello.ComputerID != 12 || p.hello.Label != "miner" || p.hello.Protocol != 1 || p.hello.NetworkID != "default" ||
		p.hello.Boot == "" || !strings.HasPrefix(p.hello.Agent, "traposd-lua/dev (ComputerCraft") {
		t.Errorf("hello: %+v", p.hello)
	}

	r := p.exec("print('hello', 1, nil)\nwrite('a') write('b')\nreturn 6 * 7, 'x\\0y\\255', true, nil, {1, k = {2}}, print", time.Minute)
	if !r.OK || string(r.Output) != "hello\t1\tnil\nab" || r.Truncated {
		t.Errorf("output %q, %+v", r.Output, r)
	}
	if len(r.Returns) != 6 {
		t.Fatalf("returns: %+v", r.Returns)
	}
	if v := r.Returns[0]; v.Type != "number" || v.Value != 42.0 {
		t.Errorf("number: %+v", v)
	}
	if v := r.Returns[1]; v.Type != "string" || string(v.Bytes) != "x\x00y\xff" {
		t.Errorf("string: %+v", v)
	}
	if v := r.Returns[2]; v.Type != "boolean" || v.Value != true {
		t.Errorf("boolean: %+v", v)
	}
	if v := r.Returns[3]; v.Type != "nil" {
		t.Errorf("nil: %+v", v)
	}
	if v := r.Returns[4]; v.Type != "table" || string(v.Bytes) != "{\n  1,\n  k = {\n    2,\n  },\n}" {
		t.Errorf("table: %+v %s", v, v.Bytes)
	}
	if v := r.Returns[5]; v.Type != "function" {
		t.Errorf("function: %+v", v)
	}

	if r = p.exec("", time.Minute); !r.OK || len(r.Returns) != 0 || r.Returns == nil {
		t.Errorf("an empty chunk: %+v", r)
	}
	if r = p.exec("1 + 1", time.Minute); !r.OK || len(r.Returns) != 1 || r.Returns[0].Value != 2.0 {
		t.Errorf("an expression: %+v", r)
	}
}

func execErrorsByKind(t *testing.T, _ *machine, p *peer) {
	for _, c := range []struct {
		name, source, kind, message, output string
		line                                int
	}{
		{"syntax", "print('x')\nif then", "syntax", "", "", 2},
		{"runtime", "print('before')\nerror('boom')", "runtime", "exec:2: boom", "before\n", 2},
		{"bare", "error('boom', 0)", "runtime", "boom", "", 0},
		{"table", "error({code = 7})", "runtime", "{\n  code = 7,\n}", "", 0},
		{"arithmetic", "local x = nil\nreturn x + 1", "runtime", "", "", 2},
		{"nested", "local ok = pcall(error, 'inner') error(tostring(ok), 0)", "runtime", "false", "", 0},
		{"terminated", "error('Terminated', 0)", "terminated", "Terminated", "", 0},
		{"left the shell", "print('bye') shell.exit()", "exit", "the code left the shell", "bye\n", 0},
		{"inside a coroutine", "coroutine.wrap(function() error('deep', 0) end)()", "runtime", "deep", "", 0},
	} {
		r := p.exec(c.source, time.Minute)
		if r.OK || r.Kind != c.kind || string(r.Output) != c.output || r.Line != c.line {
			t.Errorf("%s: %+v, output %q, error %q", c.name, r, r.Output, r.Error)
		}
		if c.message != "" && string(r.Error) != c.message {
			t.Errorf("%s: error %q", c.name, r.Error)
		}
	}
	r := p.exec("local function inner() error('boom') end\nlocal function outer() inner() end\nouter()", time.Minute)
	if !bytes.Contains(r.Traceback, []byte("exec:")) {
		t.Errorf("traceback %q", r.Traceback)
	}
}

// Whatever the code does to stay alive, it is stopped at its deadline, and the computer serves the next call.
func execDeadline(t *testing.T, _ *machine, p *peer) {
	for name, source := range map[string]string{
		"endless loop":       "print('in') while true do end",
		"caught":             "print('in') while true do pcall(function() while true do end end) end",
		"sleep":              "print('in') sleep(1000)",
		"no such event":      "print('in') while true do os.pullEvent('never') end",
		"raw events":         "print('in') while true do os.pullEventRaw() end",
		"own coroutine":      "print('in') coroutine.wrap(function() while true do end end)()",
		"coroutine twice":    "print('in') local c = coroutine.create(function() coroutine.wrap(function() while true do end end)() end) while true do coroutine.resume(c) end",
		"parallel":           "print('in') parallel.waitForAny(function() while true do end end, function() sleep(1000) end)",
		"flood":              "print('in') while true do os.queueEvent('x') os.pullEvent('x') end",
		"through a program":  "print('in') local f = fs.open('loop.lua', 'w') f.write('while true do end') f.close() shell.run('loop')",
		"hook taken away":    "print('in') pcall(function() _G.debug.sethook() end) while true do end",
		"string metamethods": "print('in') local t = setmetatable({}, {__index = function(t, k) while true do end end}) return t.x",
	} {
		before := time.Now()
		r := p.exec(source, 120*time.Millisecond)
		if r.OK || r.Kind != "timeout" || string(r.Output) != "in\n" {
			t.Errorf("%s: %+v, output %q, error %q", name, r, r.Output, r.Error)
		}
		if took := time.Since(before); took > 10*time.Second {
			t.Errorf("%s: stopped after %v", name, took)
		}
		if r = p.exec("return 'alive'", time.Minute); !r.OK || string(r.Returns[0].Bytes) != "alive" {
			t.Fatalf("%s: the next call: %+v %s", name, r, r.Error)
		}
	}
}

func execGivesWay(t *testing.T, _ *machine, p *peer) {
	id, busy := p.start("exec-lua", map[string]any{"sourceBase64": b64("while true do end"), "timeoutMs": 60000}, time.Minute)
	for range 3 {
		if r := p.exec("return 1", time.Minute); !r.OK {
			t.Errorf("beside a busy one: %+v", r)
		}
	}
	select {
	case f := <-busy:
		t.Errorf("the busy one ended: %+v", f)
	default:
	}
	p.write(frame{Type: "cancel", ID: id})
}

// Events that come while the code computes are kept for it, as the computer itself would.
func execEvents(t *testing.T, _ *machine, p *peer) {
	r := p.exec(`
		for i = 1, 50 do os.queueEvent("mine", i) end
		local until_ = os.epoch("utc") + 200
		while os.epoch("utc") < until_ do end
		local sum = 0
		for i = 1, 50 do local _, n = os.pullEvent("mine") sum = sum + n end
		return sum`, time.Minute)
	if !r.OK || r.Returns[0].Value != 1275.0 {
		t.Errorf("%+v %s", r, r.Error)
	}
}

func execCancel(t *testing.T, _ *machine, p *peer) {
	for _, source := range []string{
		"_G.n = 0 while true do _G.n = _G.n + 1 end",
		"_G.n = 0 while true do _G.n = _G.n + 1 sleep(0.05) end",
	} {
		id, answer := p.start("exec-lua", map[string]any{"sourceBase64": b64(source), "timeoutMs": 60000}, time.Minute)
		count := func(before string) any { return p.exec(before+" return _G.n or 0", time.Minute).Returns[0].Value }
		until(t, "the code runs", func() bool { return count("") != 0.0 })
		p.write(frame{Type: "cancel", ID: id})
		stopped := count("sleep(0.1)")
		if later := count("sleep(0.3)"); later != stopped {
			t.Errorf("it counts on after a cancel: %v, %v", stopped, later)
		}
		select {
		case f := <-answer:
			t.Errorf("a cancelled request was answered: %+v", f)
		default:
		}
		p.exec("_G.n = nil", time.Minute)
	}
}

// The computer's own functions are replaced only while something runs.
func execLeavesNothing(t *testing.T, m *machine, p *peer) {
	p.exec("print('x')", time.Minute)
	p.exec("while true do end", 50*time.Millisecond)
	p.exec("error('x')", time.Minute)
	p.exec("term.redirect(term.native())", time.Minute)
	m.Type("check\n")
	m.awaitScreen("same: 8 of 8")
}

func execOutput(t *testing.T, _ *machine, p *peer) {
	for source, want := range map[string]string{
		"shell.run('say', 'a', 'b')":                                  "from a program\ta\tb\n",
		"term.write('one') term.setCursorPos(1, 2) term.write('two')": "one\ntwo",
		"term.write('a') term.setCursorPos(5, 1) term.write('b')":     "a   b",
		"parallel.waitForAll(function() print('p') end)":              "p\n",
		"print(require('mod').answer)":                                "42\n",
		"print(('x'):rep(200))":                                       strings.Repeat("x", 200) + "\n",
		"print('a') term.write('b')":                                  "a\nb",
		"coroutine.wrap(function() print('c') end)()":                 "c\n",
		"print(('é'))": "é\n",
	} {
		if r := p.exec(source, time.Minute); !r.OK || string(r.Output) != want {
			t.Errorf("%s: output %q, want %q (%+v %s)", source, r.Output, want, r, r.Error)
		}
	}
}

func execOutputBound(t *testing.T, _ *machine, p *peer) {
	const lines, limit = 100 / slowdown, 65536 / slowdown
	payload := map[string]any{"sourceBase64": b64(fmt.Sprintf(
		"for i = 1, %d do print(('%%08d'):format(i) .. ('x'):rep(991)) end error('end', 0)", lines))}
	if slowdown > 1 { // 65536 is the default
		payload["maxOutputBytes"] = limit
	}
	r := p.result(p.call("exec-lua", payload))
	if r.OK || !r.Truncated || r.Bytes != lines*1000 || len(r.Output) > limit+500 || len(r.Output) < limit {
		t.Errorf("%d bytes, %+v", len(r.Output), r)
	}
	if !bytes.HasPrefix(r.Output, []byte("00000001")) || !bytes.Contains(r.Output, []byte("left out")) ||
		!bytes.Contains(r.Output, fmt.Appendf(nil, "%08dx", lines)) {
		t.Error("the beginning or the end is missing")
	}
}

func execGlobals(t *testing.T, _ *machine, p *peer) {
	run := func(session, source string) execResult {
		return p.result(p.call("exec-lua", map[string]any{"sourceBase64": b64(source), "session": session}))
	}
	p.exec("leak = 1", time.Minute)
	if r := p.exec("return leak", time.Minute); r.Returns[0].Type != "nil" {
		t.Error("a global outlived its chunk")
	}
	run("s", "kept = (kept or 0) + 1")
	run("s", "kept = (kept or 0) + 1")
	if r := run("s", "return kept"); r.Returns[0].Value != 2.0 {
		t.Errorf("a session's global is %+v", r.Returns)
	}
	if r := run("other", "return kept"); r.Returns[0].Type != "nil" {
		t.Error("a session's global is seen in another")
	}
	if r := p.exec("return debug.sethook, type(shell.run), type(require)", time.Minute); r.Returns[0].Type != "nil" ||
		string(r.Returns[1].Bytes) != "function" || string(r.Returns[2].Bytes) != "function" {
		t.Errorf("the environment: %+v", r.Returns)
	}
	r := p.exec("return print == _G.print, coroutine.resume == _G.coroutine.resume", time.Minute)
	if !r.OK {
		t.Errorf("%+v", r)
	}
}

func execLimit(t *testing.T, m *machine, p *peer) {
	var answers []chan frame
	for range 8 {
		_, a := p.start("exec-lua", map[string]any{"sourceBase64": b64("os.pullEvent('go')"), "timeoutMs": 60000}, time.Minute)
		answers = append(answers, a)
	}
	f := p.call("exec-lua", map[string]any{"sourceBase64": b64("return 1")})
	if f.OK == nil || *f.OK || f.Error.Code != "busy" {
		t.Errorf("the ninth: %+v", f)
	}
	m.QueueEvent("go")
	for _, a := range answers {
		if r := p.result(p.await(a)); !r.OK {
			t.Errorf("one of eight: %+v", r)
		}
	}
	if r := p.exec("return 1", time.Minute); !r.OK {
		t.Errorf("afterwards: %+v", r)
	}
}

func execLarge(t *testing.T, _ *machine, p *peer) {
	const size = 500_000 / slowdown
	source := "local s = '" + strings.Repeat("0123456789", size/10) + "'\nreturn #s"
	if r := p.exec(source, time.Minute); !r.OK || r.Returns[0].Value != float64(size) {
		t.Fatalf("a source of %d bytes: %+v %s", len(source), r, r.Error)
	}
	const lines, long = 1000 / slowdown, 400_000 / slowdown
	r := p.result(p.call("exec-lua", map[string]any{
		"sourceBase64":   b64(fmt.Sprintf("for i = 1, %d do print(('y'):rep(999)) end return ('z'):rep(%d)", lines, long)),
		"maxOutputBytes": 1 << 20,
	}))
	if !r.OK || len(r.Output) != lines*1000 || r.Truncated || len(r.Returns[0].Bytes) != long {
		t.Errorf("output %d bytes: %+v", len(r.Output), r.Kind)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.largest > testMaxFrame || p.chunks < 20/slowdown {
		t.Errorf("largest message %d bytes, %d chunks", p.largest, p.chunks)
	}
}

func TestExecRebootIsAnsweredFirst(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	files := disk(t, nil)
	server := string(files["servers/mcp-computer-server.lua"].Data)
	files["servers/mcp-computer-server.lua"].Data = []byte(strings.Replace(server, "FAREWELL = 0.5", "FAREWELL = 0.05", 1))
	_, p := h.connect(craftos.Options{ID: 1, Files: files})
	for _, source := range []string{
		"print('x') os.reboot()",
		"print('x') pcall(os.reboot)",
		"print('x') coroutine.wrap(function() os.reboot() end)()",
		"print('x') shell.run('reboot')",
	} {
		r := p.exec(source, time.Minute)
		if r.OK || r.Kind != "exit" || !strings.HasPrefix(string(r.Output), "x\n") {
			t.Errorf("%s: %+v %s", source, r, r.Error)
		}
		<-p.gone
		before := p.hello.Boot
		p = h.next()
		p.awaitServes("exec-lua")
		if p.hello.Boot == before {
			t.Error("the same boot nonce after a reboot")
		}
	}
}

// BenchmarkExec is one exec-lua round trip through a real socket and the emulated computer. An emulated computer gives
// way in ticks of the host's scheduler, not of the game's 50 ms.
func BenchmarkExec(b *testing.B) {
	h := newHost(b)
	_, p := h.connect(craftos.Options{ID: 1})
	for b.Loop() {
		if r := p.exec("return 1", time.Minute); !r.OK {
			b.Fatal(r.Kind)
		}
	}
}
