package craftos

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestCoroutines(t *testing.T) {
	t.Parallel()
	bootSnippet(t, Options{}, `
		local co = coroutine.create(function(a, b)
			same(3, a + b)
			local c = coroutine.yield(a * 2)
			local ok, d = pcall(coroutine.yield, c)   -- across a protected call
			same("d", d)
			for x in (function() return coroutine.yield("iterator") end) do same("x", x) break end
			local t = setmetatable({}, { __index = function(_, k) return coroutine.yield(k) end })
			same("value", t.key)
			error({ code = 5 })
		end)
		same("suspended", coroutine.status(co))
		local function resume(...) local ok, v = coroutine.resume(co, ...) check(ok, v) return v end
		same(2, resume(1, 2))
		same("c", resume("c"))
		same("iterator", resume("d"))
		same("key", resume("x"))
		local ok, e = coroutine.resume(co, "value")
		same(false, ok) same(5, e.code)
		same("dead", coroutine.status(co))
		local ok, e = coroutine.resume(co)
		same("cannot resume dead coroutine", e)

		local gen = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
		same(6, gen() + gen() + gen())
		fails("boom", coroutine.wrap(function() error("boom") end))

		local outer
		outer = coroutine.create(function()
			local inner = coroutine.create(function() same("normal", coroutine.status(outer)) end)
			check(coroutine.resume(inner))
			local ok, e = coroutine.resume(outer)
			same("cannot resume non-suspended coroutine", e)
			same(outer, (coroutine.running()))
		end)
		check(coroutine.resume(outer))
		check(coroutine.isyieldable())
	`)
}

func TestProtectedCalls(t *testing.T) {
	t.Parallel()
	bootSnippet(t, Options{}, `
		-- An error must not part the caller's locals from its closures.
		local n = 0
		local function inc() n = n + 1 end
		pcall(error, "x")
		inc()
		same(1, n)
		xpcall(function() error("x") end, function() end)
		inc()
		same(2, n)

		-- Nor may a closure of a failed function read what others write.
		local saved
		xpcall(function() local x = "kept" saved = function() return x end error("x") end, function(e) return e end)
		same("kept", saved())

		local ok, e = pcall(error, { 1 }) same(1, e[1])
		local ok, e = pcall(error) same(nil, e)
		local ok, e = pcall(nil) same("attempt to call a nil value", e)
		local ok, e = xpcall(function(a, b) return a .. b end, debug.traceback, "a", "b") same("ab", e)
		local ok, e = xpcall(error, function(m) return "handled " .. m end, "m", 0) same("handled m", e)
		local ok, e = pcall(function() error("here") end) same(true, e:find("^/startup.lua:%d+: here$") ~= nil)
		local ok, e = pcall(function() error("here", 0) end) same("here", e)
		local function level2() error("up", 2) end
		local ok, e = pcall(function() level2() end) same(true, e:find("^/startup.lua:%d+: up$") ~= nil)

		local function deep(n) return 1 + deep(n + 1) end
		fails("stack overflow", deep, 1)
		local function nested(n) local ok, e = pcall(nested, n + 1) if not ok then error(e, 0) end return e end
		fails("stack overflow", nested, 1)
		same(100, select("#", table.unpack({}, 1, 100)))
		local trace = select(2, xpcall(function() error("traced") end, debug.traceback))
		check(trace:find("traced\nstack traceback:\n", 1, true), trace)
	`)
}

func TestLoad(t *testing.T) {
	t.Parallel()
	bootSnippet(t, Options{}, `
		same(3, load("return a + b", "=x", "t", { a = 1, b = 2 })())
		same(nil, load("return print", "=x", "t", {})())
		same(print, load("return print")())
		local pieces = { "return ", "4", "2" }
		same(42, load(function() return table.remove(pieces, 1) end)())
		local fn, e = load("x =", "=name") same(nil, fn) same("name:1:", e:sub(1, 7))
		local fn, e = load("a\nb c", "@dir/file.lua") same("dir/file.lua:2:", e:sub(1, 15))
		local fn, e = load("x =") check(e:find('[string "x ="]:1:', 1, true), e)
		same(nil, (load("\27Lua")))
		same(nil, (load("return 1", "=x", "b")))
		local env = {} setfenv(load("y = 5"), env)() same(5, env.y)
		fails("bad argument", load, 5)
	`)
}

func TestStrings(t *testing.T) {
	t.Parallel()
	bootSnippet(t, Options{}, `
		same("3.14|ab   |00042|ff|FF|1e+20|%", ("%.2f|%-5s|%05d|%x|%X|%g|%%"):format(3.14159, "ab", 42, 255, 255, 1e20))
		same('"a\\\nb\\"\\0"', ("%q"):format('a\nb"\0'))
		same("abc", ("%.3s"):format("abcdef"))
		same("1.0e+01", ("%.1e"):format(10))
		same("0.3", tostring(0.1 + 0.2)) same("1e+15", tostring(1e15)) same("inf", tostring(1/0)) same("-inf", tostring(-1/0))
		same("100000000000000", tostring(1e14):gsub("1e%+14", "100000000000000"))
		same(1000, tonumber("1e3")) same(255, tonumber("0xff")) same(nil, tonumber("1_0")) same(255, tonumber("ff", 16))
		same(nil, tonumber("inf")) same(nil, tonumber("")) same(5, tonumber(" 5 "))
		same("a\233b\200", ("A\233B\200"):lower()) same("A\233B", ("a\233b"):upper()) same("\2\1", ("\1\2"):reverse())
		same("k=v", (("k v"):gsub("(%w+) (%w+)", "%1=%2")))
		same("hello world from Lua", (("hello world"):gsub("$", " from Lua")))
		same("THE (quick) fox", (("THE (quick) fox"):gsub("%((%a+)%)", "(%1)")))
		same(3, select(2, ("abc"):gsub("", "-"))- 1)
		same("x", ("[[x]]"):match("%[%[(.-)%]%]")) same("(a(b)c)", ("z(a(b)c)d"):match("%b()"))
		same("THE", ("THE quick"):match("%f[%a]%u+%f[%A]"))
		same(2, (("a.b"):find(".", 1, true))) same(nil, ("abc"):find("d"))
		same("aXbX", (("a1b2"):gsub("%d", { ["1"] = "X", ["2"] = "X" })))
		same("a2", (("a1"):gsub("%d", function(d) return d + 1 end)))
		local words = {} for w in ("one two"):gmatch("%a+") do words[#words + 1] = w end same("one,two", table.concat(words, ","))
		same("x,x,x", ("x"):rep(3, ","))
		local long = ("x"):rep(1000) .. "-" .. ("x"):rep(1000)
		same(1001, (long:find("[^x]"))) same(1001, (long:find("[%p]", 1001))) same(nil, long:find("[^x]", 1002)) same(2, (long:find("[x]", 2)))
		same("-", long:match("[^%a]")) same(nil, ("x"):rep(10):find("[^x]")) same(2002, (long:find("$"))) same(nil, ("ab"):find("^[b]"))
		fails("malformed pattern", string.find, "a", "[a") fails("invalid", string.gsub, "a", "a", "%2")
		local big = ("a"):rep(300000)
		same(300000, select(2, big:gsub("a", "b")))
		same(100000, select("#", big:byte(1, 100000)))
		same(0x2f, bit32.bxor(0xf, 0x20)) same(4294967295, bit32.bnot(0)) same(2^31, bit32.lshift(1, 31)) same(0, bit32.lshift(1, 32))
		same(0xff, bit32.extract(0xff00, 8, 8)) same(0xffffffff, bit32.arshift(0x80000000, 31)) same(1, bit32.lrotate(0x80000000, 1))
		same("\195\169", utf8.char(233)) same(233, utf8.codepoint("\195\169")) same(1, utf8.len("\195\169")) same(3, utf8.offset("\195\169x", 2))
		local t = table.pack(1, nil, 3) same(3, t.n) same(6, select("#", table.unpack({}, 1, 6)))
		same("1,2,3", table.concat({ 1, 2, 3 }, ","))
		same("3.5", "" .. 3.5)
		same(1, math.random(1)) check(math.random() < 1) fails("interval is empty", math.random, 0)
		local seen = {} for k, v in pairs(setmetatable({}, { __pairs = function() return next, { a = 1 } end })) do seen[k] = v end same(1, seen.a)
	`)
}

func TestCountHookPreempts(t *testing.T) {
	bootSnippet(t, Options{}, `
		local co = coroutine.create(function() while true do end end)
		debug.sethook(co, function() coroutine.yield("preempted") end, "", 5000)
		for _ = 1, 5 do
			local ok, v = coroutine.resume(co)
			check(ok, v) same("preempted", v)
		end
		same("suspended", coroutine.status(co))

		-- Within a protected call, and while the computer goes on.
		local ticks, deadline = 0, os.epoch("utc") + 5000
		local co = coroutine.create(function() while true do pcall(function() for i = 1, 1e9 do end end) end end)
		debug.sethook(co, function() coroutine.yield() end, "", 10000)
		parallel.waitForAny(function()
			while coroutine.status(co) ~= "dead" and ticks < 3 and os.epoch("utc") <= deadline do
				coroutine.resume(co)
				os.queueEvent("again") os.pullEvent("again")
			end
		end, function() while true do sleep(0) ticks = ticks + 1 end end)
		check(ticks >= 3, ticks)
		local co = coroutine.create(function() while true do end end)
		debug.sethook(co, function() error("stop", 0) end, "", 1000)
		local ok, e = coroutine.resume(co)
		same("stop", e)
	`)
}

func TestTooLongWithoutYielding(t *testing.T) {
	bootSnippet(t, Options{AbortAfter: 200 * time.Millisecond}, `
		fails("Too long without yielding", function() while true do end end)
	`)
}

func TestAbortTurnsTheComputerOff(t *testing.T) {
	c := newComputer(t, Options{AbortAfter: 200 * time.Millisecond})
	if err := c.WriteFile("startup.lua", []byte(`while true do pcall(function() while true do end end) end`)); err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context()); !errors.Is(err, ErrTooLong) {
		t.Fatalf("run: %v, want %v", err, ErrTooLong)
	}
	if got := c.Screen()[1]; got != "Too long without yielding" {
		t.Errorf("screen says %q", got)
	}
}

// TestRecursionThroughGoIsBounded: a program whose recursion nests Go calls must not reach the limit of a Go stack.
func TestRecursionThroughGoIsBounded(t *testing.T) {
	t.Parallel()
	bootSnippet(t, Options{}, `
		local f f = function() return (string.gsub("x", ".", f)) end
		fails("stack overflow", f)
		local t = setmetatable({}, {}) getmetatable(t).__index = function(_, k) return t[k + 1] end
		fails("stack overflow", function() return t[1] end)
	`)
}

func TestCompiledProgramsAreShared(t *testing.T) {
	var c protoCache
	first, err := c.compile("return 1", "a")
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := c.compile("return 1", "a"); again != first {
		t.Error("the same program was compiled twice")
	}
	if other, _ := c.compile("return 1", "b"); other == first {
		t.Error("programs of two names are one: their messages would have the wrong name")
	}
	for i := range 4 * cacheGeneration {
		if _, err := c.compile(fmt.Sprint("return ", i), "a"); err != nil {
			t.Fatal(err)
		}
		if i%cacheGeneration == 0 {
			if again, _ := c.compile("return 1", "a"); again != first {
				t.Error("a program in use was forgotten")
			}
		}
	}
	if n := len(c.young) + len(c.old); n > 2*cacheGeneration {
		t.Errorf("the cache holds %d programs", n)
	}
}
