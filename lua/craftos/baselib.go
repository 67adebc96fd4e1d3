package craftos

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// openLibraries fills the globals: what Lua has, in the way that CC:Tweaked's Cobalt has it, and the natives that the
// rom builds the computer's APIs on.
func (m *machine) openLibraries() error {
	for _, lib := range []struct {
		name string
		open lua.LGFunction
	}{
		{lua.BaseLibName, lua.OpenBase},
		{lua.TabLibName, lua.OpenTable},
		{lua.StringLibName, lua.OpenString},
		{lua.MathLibName, lua.OpenMath},
		{lua.DebugLibName, lua.OpenDebug},
	} {
		m.root.Push(m.root.NewFunction(lib.open))
		m.root.Push(lua.LString(lib.name))
		if err := m.root.PCall(1, 0, nil); err != nil {
			return fmt.Errorf("open the Lua library %q: %w", lib.name, err)
		}
	}
	m.openBase()
	m.openCoroutine()
	m.openString()
	m.openTable()
	m.openMath()
	m.openDebug()
	m.openBit32()
	m.openUTF8()
	m.openOS()
	m.openFS()
	m.openTerm()
	m.openHTTP()
	m.openTextutils()
	return nil
}

func (m *machine) openBase() {
	g := m.globals()
	for _, name := range []string{
		"collectgarbage", "dofile", "loadfile", "module", "require", "newproxy", "print", "_printregs", "_GOPHER_LUA_VERSION",
	} {
		g.RawSetString(name, lua.LNil)
	}
	m.setFuncs(g, map[string]lua.LGFunction{
		"pcall": m.basePCall, "xpcall": m.baseXPCall, "error": baseError, "load": m.baseLoad, "loadstring": m.baseLoadString,
		"tostring": baseToString, "tonumber": baseToNumber, "rawlen": baseRawLen, "pairs": m.basePairs(), "unpack": tableUnpack,
		"select": baseSelect, "assert": baseAssert, "ipairs": m.baseIpairs(),
	})
	g.RawSetString("_VERSION", lua.LString("Lua 5.1"))
	g.RawSetString("_HOST", lua.LString("ComputerCraft 1.113.1 (traposd craftos)"))
	g.RawSetString("_CC_DEFAULT_SETTINGS", lua.LString(""))
}

func (m *machine) globals() *lua.LTable { return m.root.G.Global }

func baseAssert(l *lua.LState) int {
	if lua.LVAsBool(l.CheckAny(1)) {
		return l.GetTop()
	}
	if l.GetTop() > 1 {
		raise(l, l.Get(2))
	}
	raise(l, lua.LString("assertion failed!"))
	return 0
}

// toText is what tostring gives.
func toText(l *lua.LState, v lua.LValue) string {
	if fn, ok := l.GetMetaField(v, "__tostring").(*lua.LFunction); ok {
		l.Push(fn)
		l.Push(v)
		l.Call(1, 1)
		result := l.Get(-1)
		l.Pop(1)
		text, ok := result.(lua.LString)
		if !ok {
			throw(l, "'__tostring' must return a string")
		}
		return string(text)
	}
	if n, ok := v.(lua.LNumber); ok {
		return formatNumber(float64(n))
	}
	if v.Type() == lua.LTTable {
		if name, ok := l.GetMetaField(v, "__name").(lua.LString); ok {
			return fmt.Sprintf("%s: %p", string(name), v)
		}
	}
	return v.String()
}

func baseToString(l *lua.LState) int {
	l.Push(lua.LString(toText(l, l.CheckAny(1))))
	return 1
}

func baseToNumber(l *lua.LState) int {
	value := l.CheckAny(1)
	if l.Get(2) == lua.LNil {
		switch v := value.(type) {
		case lua.LNumber:
			l.Push(v)
			return 1
		case lua.LString:
			if f, ok := parseNumber(string(v)); ok {
				l.Push(lua.LNumber(f))
				return 1
			}
		}
		l.Push(lua.LNil)
		return 1
	}
	base := checkInt(l, 2)
	if base < 2 || base > 36 {
		throw(l, "bad argument #2 to 'tonumber' (base out of range)")
	}
	text := strings.Trim(checkString(l, 1), " \t\n\v\f\r")
	if base == 16 {
		text = strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X")
	}
	n, err := strconv.ParseInt(text, base, 64)
	if err != nil || strings.Contains(text, "_") {
		l.Push(lua.LNil)
		return 1
	}
	l.Push(lua.LNumber(n))
	return 1
}

func baseRawLen(l *lua.LState) int {
	switch v := l.Get(1).(type) {
	case *lua.LTable:
		l.Push(lua.LNumber(v.Len()))
	case lua.LString:
		l.Push(lua.LNumber(len(v)))
	default:
		badArgument(l, 1, "table or string", v)
	}
	return 1
}

// basePairs returns pairs, which honours __pairs.
func (m *machine) basePairs() lua.LGFunction {
	next := m.root.NewFunction(func(l *lua.LState) int {
		t := checkTable(l, 1)
		key, value := t.Next(l.Get(2))
		if key == lua.LNil {
			l.Push(lua.LNil)
			return 1
		}
		l.Push(key)
		l.Push(value)
		return 2
	})
	m.globals().RawSetString("next", next)
	return func(l *lua.LState) int {
		v := l.CheckAny(1)
		if fn, ok := l.GetMetaField(v, "__pairs").(*lua.LFunction); ok {
			l.Push(fn)
			l.Push(v)
			l.Call(1, 3)
			return 3
		}
		t := checkTable(l, 1)
		l.Push(next)
		l.Push(t)
		l.Push(lua.LNil)
		return 3
	}
}

// baseIpairs returns ipairs, which honours __index as Lua 5.3 and Cobalt do.
func (m *machine) baseIpairs() lua.LGFunction {
	step := m.root.NewFunction(func(l *lua.LState) int {
		i := lua.LNumber(checkInt(l, 2) + 1)
		var value lua.LValue
		if t, ok := l.Get(1).(*lua.LTable); ok && t.Metatable == lua.LNil {
			value = t.RawGetInt(int(i))
			if value == lua.LNil {
				value = t.RawGet(i)
			}
		} else {
			value = l.GetTable(l.Get(1), i)
		}
		if value == lua.LNil {
			l.Push(lua.LNil)
			return 1
		}
		l.Push(i)
		l.Push(value)
		return 2
	})
	return func(l *lua.LState) int {
		v := l.CheckAny(1)
		if v == lua.LNil {
			badArgument(l, 1, "table", v)
		}
		l.Push(step)
		l.Push(v)
		l.Push(lua.LNumber(0))
		return 3
	}
}

func baseSelect(l *lua.LState) int {
	if s, ok := l.Get(1).(lua.LString); ok && s == "#" {
		l.Push(lua.LNumber(l.GetTop() - 1))
		return 1
	}
	n, top := checkInt(l, 1), l.GetTop()
	switch {
	case n < 0:
		n = top + n
		if n < 1 {
			throw(l, "bad argument #1 to 'select' (index out of range)")
		}
		return top - n
	case n == 0:
		throw(l, "bad argument #1 to 'select' (index out of range)")
	case n >= top:
		return 0
	}
	return top - n
}

func (m *machine) openMath() {
	lib := m.root.GetGlobal("math").(*lua.LTable)
	source := newRandom()
	m.setFuncs(lib, map[string]lua.LGFunction{
		"random": source.random, "randomseed": source.seed,
		"fmod": func(l *lua.LState) int {
			l.Push(lua.LNumber(math.Mod(checkNumber(l, 1), checkNumber(l, 2))))
			return 1
		},
		"log": func(l *lua.LState) int {
			x := math.Log(checkNumber(l, 1))
			if l.Get(2) != lua.LNil {
				x /= math.Log(checkNumber(l, 2))
			}
			l.Push(lua.LNumber(x))
			return 1
		},
	})
	lib.RawSetString("huge", lua.LNumber(math.Inf(1)))
}
