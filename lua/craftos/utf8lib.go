package craftos

import (
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
)

// openUTF8 installs Lua 5.3's utf8, which Cobalt has.
func (m *machine) openUTF8() {
	lib := newTable()
	m.setFuncs(lib, map[string]lua.LGFunction{
		"char": utf8Char, "codepoint": utf8Codepoint, "len": utf8Len, "offset": utf8Offset, "codes": m.utf8Codes(),
	})
	lib.RawSetString("charpattern", lua.LString("[%z\x01-\x7f\xc2-\xf4][\x80-\xbf]*"))
	m.root.SetGlobal("utf8", lib)
}

func utf8Char(l *lua.LState) int {
	var b strings.Builder
	for i := 1; i <= l.GetTop(); i++ {
		b.WriteRune(rune(checkInt(l, i)))
	}
	l.Push(lua.LString(b.String()))
	return 1
}

// bytePosition turns a Lua index, from the end when negative, into an offset from 0.
func bytePosition(i, length int) int {
	if i < 0 {
		return max(length+i, -1)
	}
	return i - 1
}

func utf8Codepoint(l *lua.LState) int {
	s := checkString(l, 1)
	from := optInt(l, 2, 1)
	i, j := bytePosition(from, len(s)), bytePosition(optInt(l, 3, from), len(s))
	if i < 0 || j >= len(s) {
		throw(l, "bad argument #2 to 'codepoint' (out of range)")
	}
	n := 0
	for i <= j {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size <= 1 {
			throw(l, "invalid UTF-8 code")
		}
		l.Push(lua.LNumber(r))
		i += size
		n++
	}
	return n
}

func utf8Len(l *lua.LState) int {
	s := checkString(l, 1)
	i, j := bytePosition(optInt(l, 2, 1), len(s)), bytePosition(optInt(l, 3, -1), len(s))
	if i < 0 || i > len(s) || j >= len(s) {
		throw(l, "bad argument #2 to 'len' (out of range)")
	}
	n := 0
	for i <= j {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size <= 1 {
			l.Push(lua.LNil)
			l.Push(lua.LNumber(i + 1))
			return 2
		}
		i += size
		n++
	}
	l.Push(lua.LNumber(n))
	return 1
}

func utf8Offset(l *lua.LState) int {
	s, n := checkString(l, 1), checkInt(l, 2)
	start := 1
	if n <= 0 {
		start = len(s) + 1
	}
	i := bytePosition(optInt(l, 3, start), len(s))
	if i < 0 || i > len(s) {
		throw(l, "bad argument #3 to 'offset' (position out of range)")
	}
	continuation := func(at int) bool { return at < len(s) && s[at]&0xc0 == 0x80 }
	if n == 0 {
		for i > 0 && continuation(i) {
			i--
		}
		l.Push(lua.LNumber(i + 1))
		return 1
	}
	if continuation(i) {
		throw(l, "initial position is a continuation byte")
	}
	found := true
	for ; n < 0 && found; n++ {
		if found = i > 0; found {
			for i--; i > 0 && continuation(i); {
				i--
			}
		}
	}
	for ; n > 1 && found; n-- {
		if found = i < len(s); found {
			for i++; continuation(i); {
				i++
			}
		}
	}
	if found {
		l.Push(lua.LNumber(i + 1))
		return 1
	}
	l.Push(lua.LNil)
	return 1
}

func (m *machine) utf8Codes() lua.LGFunction {
	step := m.root.NewFunction(func(l *lua.LState) int {
		s, i := checkString(l, 1), checkInt(l, 2)
		for i < len(s) && i > 0 && s[i]&0xc0 == 0x80 {
			i++
		}
		if i >= len(s) {
			return 0
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size <= 1 {
			throw(l, "invalid UTF-8 code")
		}
		l.Push(lua.LNumber(i + 1))
		l.Push(lua.LNumber(r))
		return 2
	})
	return func(l *lua.LState) int {
		l.Push(step)
		l.Push(lua.LString(checkString(l, 1)))
		l.Push(lua.LNumber(0))
		return 3
	}
}
