package craftos

import (
	"regexp"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// maxSerialiseDepth is where nesting overflows.
const maxSerialiseDepth = 4000

var luaIdentifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

var luaKeywords = map[string]bool{
	"and": true, "break": true, "do": true, "else": true, "elseif": true, "end": true, "false": true, "for": true,
	"function": true, "if": true, "in": true, "local": true, "nil": true, "not": true, "or": true, "repeat": true, "return": true,
	"then": true, "true": true, "until": true, "while": true,
}

type luaWriter struct {
	b        strings.Builder
	active   map[*lua.LTable]bool // true: being written; false: written before
	repeated bool
	compact  bool
}

// luaSerialise is textutils.serialise(value [, {compact, allow_repetitions}]): a Lua literal.
func luaSerialise(l *lua.LState) int {
	w := &luaWriter{active: map[*lua.LTable]bool{}}
	if options, ok := l.Get(2).(*lua.LTable); ok {
		w.compact = lua.LVAsBool(options.RawGetString("compact"))
		w.repeated = lua.LVAsBool(options.RawGetString("allow_repetitions"))
	}
	if err := w.value(l.Get(1), "", 0); err != nil {
		throw(l, err.Error())
	}
	l.Push(lua.LString(w.b.String()))
	return 1
}

func (w *luaWriter) value(v lua.LValue, indent string, depth int) error {
	if depth > maxSerialiseDepth {
		return gameError("stack overflow")
	}
	if w.b.Len() > maxString {
		return gameError("not enough memory")
	}
	switch v := v.(type) {
	case *lua.LTable:
		return w.table(v, indent, depth)
	case lua.LString:
		w.b.WriteString(quote(v))
	case lua.LNumber:
		switch text := formatNumber(float64(v)); text {
		case "inf":
			w.b.WriteString("1/0")
		case "-inf":
			w.b.WriteString("-1/0")
		case "nan":
			w.b.WriteString("0/0")
		default:
			w.b.WriteString(text)
		}
	case lua.LBool, *lua.LNilType:
		w.b.WriteString(v.String())
	default:
		return gameError(cannotSerialise + "type " + v.Type().String())
	}
	return nil
}

func (w *luaWriter) table(t *lua.LTable, indent string, depth int) error {
	if writing, seen := w.active[t]; seen {
		if writing {
			return gameError(cannotSerialise + "table with recursive entries")
		}
		return gameError(cannotSerialise + "table with repeated entries")
	}
	if first, _ := t.Next(lua.LNil); first == lua.LNil {
		w.b.WriteString("{}")
		return nil
	}
	w.active[t] = true
	open, end, equals, inner := "{\n", ",\n", " = ", indent+"  "
	if w.compact {
		open, end, equals, inner = "{", ",", "=", ""
	}
	w.b.WriteString(open)
	length := t.Len()
	for i := 1; i <= length; i++ {
		w.b.WriteString(inner)
		if err := w.value(t.RawGetInt(i), inner, depth+1); err != nil {
			return err
		}
		w.b.WriteString(end)
	}
	for key, item := t.Next(lua.LNil); key != lua.LNil; key, item = t.Next(key) {
		if n, ok := key.(lua.LNumber); ok && n >= 1 && n <= lua.LNumber(length) && n == lua.LNumber(int(n)) {
			continue
		}
		w.b.WriteString(inner)
		if name, ok := key.(lua.LString); ok && luaIdentifier.MatchString(string(name)) && !luaKeywords[string(name)] {
			w.b.WriteString(string(name) + equals)
		} else {
			w.b.WriteString(map[bool]string{true: "[", false: "[ "}[w.compact])
			if err := w.value(key, inner, depth+1); err != nil {
				return err
			}
			w.b.WriteString(map[bool]string{true: "]", false: " ]"}[w.compact] + equals)
		}
		if err := w.value(item, inner, depth+1); err != nil {
			return err
		}
		w.b.WriteString(end)
	}
	if !w.compact {
		w.b.WriteString(indent)
	}
	w.b.WriteByte('}')
	if w.repeated {
		delete(w.active, t)
	} else {
		w.active[t] = false
	}
	return nil
}
