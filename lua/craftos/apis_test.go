package craftos

import (
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	bootSnippet(t, Options{}, `
		local enc, dec = textutils.serialiseJSON, textutils.unserialiseJSON
		same('"\\u00C3\\u00A9"', enc("\195\169")) same("\195\169", dec('"\\u00E9"'))
		same('"\\u00E9"', enc("\195\169", { unicode_strings = true }))
		same("\237\160\189\237\184\128", dec('"\\uD83D\\uDE00"'))
		same("nan", enc(0/0):gsub("-", "")) same("inf", enc(1/0)) same("-inf", enc(-1/0))
		fails("type function", enc, { print })
		local r = {} r.r = r fails("recursive", enc, r)
		local s = {} fails("repeated", enc, { s = s, t = s }) same('[{},{}]', enc({ s, s }, { allow_repetitions = true }))
		same("{}", enc({})) same("[]", enc(textutils.empty_json_array)) same("null", enc(textutils.json_null))
		same('{"a":3}', enc({ 1, 2, a = 3 })) same("[1,null,3]", enc({ 1, nil, 3 }))
		same(4999998, #enc({ [1e6] = 1 }))
		same("0.33333333333333", enc(1/3)) same("1e+15", enc(1e15)) same('"\\"\\\\\\n\\t\\u0001\\u007F"', enc('"\\\n\t\1\127'))
		local t = dec('{"a":[1,2,{"b":null}],"c":"x","e":[],"o":{},"n":-1.5e3,"t":true}')
		same(2, t.a[2]) same(nil, t.a[3].b) same("x", t.c) same(textutils.empty_json_array, t.e) same(nil, next(t.o)) same(-1500, t.n) same(true, t.t)
		same(textutils.json_null, dec('[null]', { parse_null = true })[1])
		check(dec("[]", { parse_empty_array = false }) ~= textutils.empty_json_array)
		check(dec("12345678901234567890") < 0)
		for _, bad in ipairs({ "", "{", "[1,", '{"a"}', "nope", '"x', "1 2", '{a:1}', '"\\q"', "[1 2]", '"a\nb"' }) do
			local v, e = dec(bad) same(nil, v) check(e:find("^Malformed JSON at position %d+: "), e)
		end
		fails("stack overflow", dec, ("["):rep(100000))
		fails("attempt to mutate", function() textutils.empty_json_array[1] = 1 end)

		same("{\n  1,\n  \"x\",\n  a = true,\n}", textutils.serialise({ 1, "x", a = true })) same("{}", textutils.serialise({}))
		same("{1,[\"b c\"]=2,}", textutils.serialise({ 1, ["b c"] = 2 }, { compact = true }))
		local back = textutils.unserialise(textutils.serialise({ a = { "é\n\0", 1/0 } })) same("é\n\0", back.a[1]) same(1/0, back.a[2])
		same(nil, textutils.unserialise("os.shutdown()")) fails("recursive", textutils.serialise, r)
		same("a+b%26c%2Fd", textutils.urlEncode("a b&c/d")) same("1:05 PM", textutils.formatTime(13.1)) same("13:30", textutils.formatTime(13.5, true))
	`)
}

func TestTerminal(t *testing.T) {
	var mirror strings.Builder
	c := bootSnippet(t, Options{Stdout: &mirror}, `
		term.clear() term.setCursorPos(1, 1)
		local w, h = term.getSize() same(51, w) same(19, h)
		term.setCursorPos(3, 2) term.write("abc") local x, y = term.getCursorPos() same(6, x) same(2, y)
		term.setCursorPos(1, 3) term.blit("xyz", "e1f", "fff") fails("same length", term.blit, "a", "bc", "d")
		term.setCursorPos(50, 4) term.write("cut off")
		check(term.isColour()) same(colours.white, term.getTextColour()) fails("Colour out of range", term.setTextColour, 0)
		same(240 / 255, (term.getPaletteColour(colours.white)))
		term.setCursorPos(1, 5)
		print(("word "):rep(12) .. "end")
		print(("x"):rep(60))

		local win = window.create(term.current(), 1, 10, 10, 3)
		local old = term.redirect(win)
		print("in window") term.setTextColour(colours.red) term.write("red") term.blit("B", "b", "f")
		term.redirect(old)
		local text, fg, bg = win.getLine(2) same("redB      ", text) same("eeeb", fg:sub(1, 4)) same("ffff", bg:sub(1, 4))
		win.setVisible(false) win.setCursorPos(1, 1) win.write("hidden") win.scroll(1)
		same("redB      ", (win.getLine(1)))
		win.reposition(1, 10, 12, 2) local w = win.getSize() same(12, w)
		fails("not a recommended", term.redirect, term) fails("not a recommended", window.create, term, 1, 1, 1, 1)
		fails("Line is out of range", win.getLine, 9)
		term.setCursorPos(1, 15)
		print("before") term.setCursorPos(1, 19) print("scrolls") 
		check(term.native().write) check(term.current() == old)
	`)
	lines := c.Screen()
	want := map[int]string{
		0: "  abc", 1: "xyz", 2: strings.Repeat(" ", 49) + "cu", 3: strings.TrimRight(strings.Repeat("word ", 10), " "),
		4: "word word end", 5: strings.Repeat("x", 51), 6: "xxxxxxxxx", 8: "in window", 9: "redB", 13: "before", 17: "scrolls",
	}
	for y, line := range want {
		if lines[y] != line {
			t.Errorf("line %d is %q, want %q", y, lines[y], line)
		}
	}
	if s := c.Snapshot(); s.Cells[1*s.Width].Foreground != 14 || s.Cells[1*s.Width].Char != 'x' {
		t.Errorf("cell is %+v", s.Cells[s.Width])
	}
	if !strings.Contains(mirror.String(), "word word end\n"+strings.Repeat("x", 51)+"\nxxxxxxxxx\n") {
		t.Errorf("mirror: %q", mirror.String())
	}
}

func TestEventsAndTimers(t *testing.T) {
	t.Parallel()
	bootSnippet(t, Options{}, `
		os.queueEvent("mine", 1, { a = { 2 } }, print, "x", nil)
		local e = table.pack(os.pullEvent("mine"))
		same(2, e[3].a[1]) same(nil, e[4]) same("x", e[5]) same(6, e.n)

		-- 256 events wait; the others are dropped without a word.
		for i = 1, 600 do os.queueEvent("flood", i) end
		os.queueEvent("last")
		local n = 0
		local t = os.startTimer(0.5)
		while true do
			local name, v = os.pullEvent()
			if name == "flood" then n = n + 1 same(n, v) elseif name == "timer" and v == t then break end
			check(name ~= "last")
		end
		same(256, n)

		local start = os.clock() sleep(0.2) check(os.clock() - start >= 0.15, os.clock() - start)
		local a, b = os.startTimer(0.1), os.startTimer(0.05)
		os.cancelTimer(b)
		local _, id = os.pullEvent("timer") same(a, id)
		local alarm = os.setAlarm((os.time() + 0.01) % 24)
		local _, id = os.pullEvent("alarm") same(alarm, id)
		os.queueEvent("terminate") fails("Terminated", os.pullEvent) os.queueEvent("terminate") same("terminate", (os.pullEventRaw("x")))

		same(1, os.day()) check(os.time() >= 6 and os.time() < 7) check(os.epoch("utc") > 1e12) check(os.epoch() > 0) check(os.epoch("local"))
		same("1970-01-02 03:04:05", os.date("!%Y-%m-%d %H:%M:%S", 97445)) same(1970, os.date("!*t", 0).year) fails("Unsupported", os.time, "mars")
		same("CraftOS 1.9", os.version()) same("ComputerCraft 1.113.1 (traposd craftos)", _HOST) same("", _CC_DEFAULT_SETTINGS)
		os.setComputerLabel(("x"):rep(40)) same(32, #os.getComputerLabel()) os.setComputerLabel("a:b") same("a:b", os.computerLabel())
		os.setComputerLabel(nil) same(nil, os.getComputerLabel())

		local seen = {}
		local which = parallel.waitForAny(
			function() while true do os.pullEvent("never") end end,
			function() sleep(0.05) seen.a = true end)
		same(2, which) check(seen.a)
		parallel.waitForAll(function() sleep(0) seen.b = true end, function() seen.c = true end) check(seen.b and seen.c)
		fails("inner", parallel.waitForAll, function() error("inner") end)
		same(0, #peripheral.getNames()) same(nil, peripheral.wrap("left")) redstone.setOutput("left", true) check(rs.getOutput("left"))
		same("enter", keys.getName(keys.enter)) same(65, keys.a) same(colours.grey, colors.gray) same("e", colours.toBlit(colours.red))
		same(nil, multishell) same(nil, collectgarbage) same(nil, _ENV)
	`)
}

func TestShell(t *testing.T) {
	files := fstest.MapFS{
		"programs/tool.lua": {Data: []byte(`local lib = require("lib") _G.got = lib.name .. table.concat({...}, "|") .. shell.getRunningProgram()`)},
		"programs/lib.lua":  {Data: []byte(`return { name = "lib" }`)},
		"bad.lua":           {Data: []byte(`error("went wrong")`)},
		"syntax.lua":        {Data: []byte(`x = = 1`)},
	}
	c := bootSnippet(t, Options{Files: files}, `
		check(shell.run("programs/tool", "a b", '"c d"')) same("liba|b|c dprograms/tool.lua", got)
		check(shell.execute("programs/tool.lua", "a b")) same("liba bprograms/tool.lua", got)
		check(not shell.run("bad")) check(not shell.run("syntax")) check(not shell.run("no-such-program"))
		same("startup.lua", shell.getRunningProgram()) same("rom/programs/list.lua", shell.resolveProgram("ls"))
		shell.run("mkdir d") shell.run("cp bad.lua d/x") shell.run("mv d/x d/y") check(fs.exists("d/y")) shell.run("rm d") check(not fs.exists("d"))
		shell.run("cd programs") same("programs", shell.dir()) same("programs/x", shell.resolve("x")) same("x", shell.resolve("/x")) shell.setDir("")
		shell.run("label set hello:there") same("hello:there", os.getComputerLabel())
		shell.run("echo", "echoed") shell.run("ls") shell.run("id") shell.run("time") shell.run("programs") shell.run("type bad.lua") shell.run("set")
		shell.setPath(shell.path() .. ":/programs") check(shell.run("tool"))
		check(shell.complete("ec")[1] == "ho") shell.setAlias("e", "echo") check(shell.run("e x"))
		package.preload.pre = function(name) return { name = name } end same("pre", require("pre").name)
		local ok, e = pcall(require, "missing.mod") check(e:find("no file 'missing/mod.lua'", 1, true), e)
		same(require("cc.expect"), require("cc.expect")) fails("bad argument #1", require("cc.expect").expect, 1, 2, "string")
		same("table", type(package.loaded)) same(nil, _G.shell) same(nil, _G.require)
	`)
	text := strings.Join(c.Screen(), "\n")
	for _, want := range []string{"\nx", "This is computer #0"} {
		if !strings.Contains(text, want) {
			t.Errorf("the screen lacks %q:\n%s", want, text)
		}
	}
}

// TestTyping uses the shell as a person does, in the bubble's own time.
func TestTyping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newComputer(t, Options{})
		done := make(chan error, 1)
		go func() { done <- c.Run(t.Context()) }()
		synctest.Wait()
		c.Type("lua\n1 + 1\n\"a\" .. \"b\"\nerror('oops')\nexit()\n")
		synctest.Wait()
		c.Type("exho")
		c.Key(KeyLeft)
		c.Key(KeyLeft)
		c.Key(KeyBackspace)
		c.Type("c")
		c.Key(KeyEnd)
		c.Paste(" pasted")
		c.Key(KeyEnter)
		synctest.Wait()
		text := strings.Join(c.Screen(), "\n")
		for _, want := range []string{"lua> 1 + 1\n2\n", "\n\"ab\"\n", "oops", "> echo pasted\npasted\n>"} {
			if !strings.Contains(text, want) {
				t.Errorf("the screen lacks %q:\n%s", want, text)
			}
		}
		c.Type("shutdown\n")
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestSnapshotAsANSI(t *testing.T) {
	c := bootSnippet(t, Options{Width: 4, Height: 2}, `
		term.clear() term.setCursorPos(1, 1) term.blit("a\27", "e0", "bf") term.setCursorPos(2, 2) term.setCursorBlink(true)
	`)
	s := c.Snapshot()
	s.Cells, s.CursorX, s.CursorY, s.CursorBlink = s.Cells[:8], 1, 1, true
	s.Cells[0], s.Cells[1] = Cell{'a', 14, 11}, Cell{0x1b, 0, 15}
	got := s.ANSI()
	for _, want := range []string{"\x1b[38;2;204;76;76m\x1b[48;2;51;102;204ma", "\x1b[2;2H\x1b[?25h"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if strings.Contains(got, "\x1b\x1b") || strings.Contains(got, "m\x1b ") {
		t.Errorf("an escape of the computer reached the terminal: %q", got)
	}
}
