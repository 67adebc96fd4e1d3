package craftos

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// openTable adds what Lua 5.2 has, and replaces concat, which fills gopher-lua's stack.
func (m *machine) openTable() {
	lib := m.root.GetGlobal("table").(*lua.LTable)
	m.setFuncs(lib, map[string]lua.LGFunction{
		"pack": tablePack, "unpack": tableUnpack, "concat": tableConcat, "move": tableMove,
	})
}

func tablePack(l *lua.LState) int {
	n := l.GetTop()
	t := l.CreateTable(n, 1)
	for i := 1; i <= n; i++ {
		t.RawSetInt(i, l.Get(i))
	}
	t.RawSetString("n", lua.LNumber(n))
	l.Push(t)
	return 1
}

func tableUnpack(l *lua.LState) int {
	value := l.Get(1)
	t, plain := value.(*lua.LTable)
	if value == lua.LNil {
		badArgument(l, 1, "table", value)
	}
	from := optInt(l, 2, 1)
	var to int
	if l.Get(3) == lua.LNil {
		to = l.ObjLen(value)
	} else {
		to = checkInt(l, 3)
	}
	if from > to {
		return 0
	}
	if to-from >= maxStackValues {
		throw(l, "too many results to unpack")
	}
	reserve(l, to-from+1)
	for i := from; i <= to; i++ {
		if plain && t.Metatable == lua.LNil {
			l.Push(t.RawGet(lua.LNumber(i)))
		} else {
			l.Push(l.GetTable(value, lua.LNumber(i)))
		}
	}
	return to - from + 1
}

func tableConcat(l *lua.LState) int {
	t := checkTable(l, 1)
	separator := optString(l, 2, "")
	from, to := optInt(l, 3, 1), optInt(l, 4, t.Len())
	var b strings.Builder
	for i := from; i <= to; i++ {
		switch v := t.RawGet(lua.LNumber(i)).(type) {
		case lua.LString:
			b.WriteString(string(v))
		case lua.LNumber:
			b.WriteString(formatNumber(float64(v)))
		default:
			throw(l, fmt.Sprintf("invalid value (at index %d) in table for 'concat'", i))
		}
		if i < to {
			b.WriteString(separator)
		}
		if b.Len() > maxString {
			throw(l, "resulting string too large")
		}
	}
	l.Push(lua.LString(b.String()))
	return 1
}

func tableMove(l *lua.LState) int {
	source, from, to, at := checkTable(l, 1), checkInt(l, 2), checkInt(l, 3), checkInt(l, 4)
	target := source
	if l.Get(5) != lua.LNil {
		target = checkTable(l, 5)
	}
	if to >= from && to-from > largestLuaArray {
		throw(l, "too many elements to move")
	}
	if at > from && at <= to && target == source {
		for i := to - from; i >= 0; i-- {
			l.SetTable(target, lua.LNumber(at+i), l.GetTable(source, lua.LNumber(from+i)))
		}
	} else {
		for i := 0; i <= to-from; i++ {
			l.SetTable(target, lua.LNumber(at+i), l.GetTable(source, lua.LNumber(from+i)))
		}
	}
	l.Push(target)
	return 1
}
