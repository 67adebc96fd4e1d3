package craftos

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// maxString bounds the strings that one call makes, in bytes; the game's own bound is its memory.
const maxString = 64 << 20

// maxStackValues bounds the values that one call returns, as Lua's own stack does.
const maxStackValues = 200_000

// openString replaces the parts of the string library that gopher-lua has differently, or slowly.
func (m *machine) openString() {
	lib := m.root.GetGlobal("string").(*lua.LTable)
	lib.RawSetString("gfind", lua.LNil)
	m.setFuncs(lib, map[string]lua.LGFunction{
		"byte": stringByte, "char": stringChar, "rep": stringRep, "find": stringFind, "match": stringMatch, "gmatch": stringGmatch,
		"gsub": stringGsub, "format": stringFormat, "sub": stringSub,
		"lower": mapBytes('A', 'Z'), "upper": mapBytes('a', 'z'),
	})
}

// span turns Lua's i and j into offsets: the bytes s[from:to].
func span(length, i, j int) (from, to int) {
	if i < 0 {
		i = max(length+i+1, 1)
	} else if i == 0 {
		i = 1
	}
	if j < 0 {
		j = length + j + 1
	} else if j > length {
		j = length
	}
	if i > j {
		return 0, 0
	}
	return i - 1, j
}

func stringSub(l *lua.LState) int {
	s := checkString(l, 1)
	from, to := span(len(s), checkInt(l, 2), optInt(l, 3, -1))
	l.Push(lua.LString(s[from:to]))
	return 1
}

// mapBytes flips the case of ASCII letters in a range; gopher-lua's own would take bytes for UTF-8.
func mapBytes(first, last byte) lua.LGFunction {
	return func(l *lua.LState) int {
		text := []byte(checkString(l, 1))
		for i, c := range text {
			if c >= first && c <= last {
				text[i] = c ^ 0x20
			}
		}
		l.Push(lua.LString(text))
		return 1
	}
}

func stringByte(l *lua.LState) int {
	s := checkString(l, 1)
	i := optInt(l, 2, 1)
	j := optInt(l, 3, i)
	from, to := span(len(s), i, j)
	if to-from > maxStackValues {
		throw(l, "string slice too long")
	}
	reserve(l, to-from)
	for _, c := range []byte(s[from:to]) {
		l.Push(lua.LNumber(c))
	}
	return to - from
}

func stringChar(l *lua.LState) int {
	bytes := make([]byte, l.GetTop())
	for i := range bytes {
		n := checkInt(l, i+1)
		if n < 0 || n > 255 {
			throw(l, fmt.Sprintf("bad argument #%d to 'char' (value out of range)", i+1))
		}
		bytes[i] = byte(n)
	}
	l.Push(lua.LString(bytes))
	return 1
}

func stringRep(l *lua.LState) int {
	s, n, separator := checkString(l, 1), checkInt(l, 2), optString(l, 3, "")
	if n <= 0 {
		l.Push(lua.LString(""))
		return 1
	}
	if (len(s)+len(separator))*n > maxString {
		throw(l, "resulting string too large")
	}
	if separator == "" {
		l.Push(lua.LString(strings.Repeat(s, n)))
	} else {
		l.Push(lua.LString(strings.Repeat(s+separator, n-1) + s))
	}
	return 1
}

func stringFind(l *lua.LState) int  { return find(l, true) }
func stringMatch(l *lua.LState) int { return find(l, false) }

func find(l *lua.LState, positions bool) int {
	s, p := checkString(l, 1), checkString(l, 2)
	from := optInt(l, 3, 1)
	if from < 0 {
		from = max(len(s)+from+1, 1)
	} else if from == 0 {
		from = 1
	}
	if from > len(s)+1 {
		l.Push(lua.LNil)
		return 1
	}
	from--
	if positions && (lua.LVAsBool(l.Get(4)) || !strings.ContainsAny(p, "^$*+?.([%-")) {
		return findPlain(l, s, p, from)
	}
	m := newMatcher(l, s, p)
	at, end, err := m.search(from)
	switch {
	case err != nil:
		throw(l, err.Error())
	case end < 0:
		l.Push(lua.LNil)
		return 1
	case positions:
		l.Push(lua.LNumber(at + 1))
		l.Push(lua.LNumber(end))
		return 2 + m.push(l, -1, 0)
	}
	return m.push(l, at, end)
}

func findPlain(l *lua.LState, s, text string, from int) int {
	at := strings.Index(s[from:], text)
	if at < 0 {
		l.Push(lua.LNil)
		return 1
	}
	l.Push(lua.LNumber(from + at + 1))
	l.Push(lua.LNumber(from + at + len(text)))
	return 2
}

// push pushes the captures, or the whole match when there are none and start is not negative.
func (m *matcher) push(l *lua.LState, start, end int) int {
	if m.level == 0 {
		if start < 0 {
			return 0
		}
		l.Push(lua.LString(m.s[start:end]))
		return 1
	}
	for i := range m.level {
		l.Push(m.value(l, i))
	}
	return m.level
}

func (m *matcher) value(l *lua.LState, i int) lua.LValue {
	c := m.captures[i]
	switch c.length {
	case capturePosition:
		return lua.LNumber(c.start + 1)
	case captureUnfinished:
		throw(l, "unfinished capture")
	}
	return lua.LString(m.s[c.start : c.start+c.length])
}

// first is the value of the first capture, or of the whole match.
func (m *matcher) first(l *lua.LState, start, end int) lua.LValue {
	if m.level == 0 {
		return lua.LString(m.s[start:end])
	}
	return m.value(l, 0)
}

func stringGmatch(l *lua.LState) int {
	m := newMatcher(l, checkString(l, 1), checkString(l, 2))
	at, last := 0, -1
	l.Push(l.NewFunction(func(l *lua.LState) int {
		if r := routineOf(l); r != nil {
			m.pause = r.look
		}
		for ; at <= len(m.s); at++ {
			end, err := m.match(at)
			if err != nil {
				throw(l, err.Error())
			}
			if end >= 0 && end != last {
				start := at
				at, last = end, end
				return m.push(l, start, end)
			}
		}
		l.Push(lua.LNil)
		return 1
	}))
	return 1
}

func stringGsub(l *lua.LState) int {
	s, p := checkString(l, 1), checkString(l, 2)
	replacement := l.Get(3)
	switch replacement.Type() {
	case lua.LTString, lua.LTNumber, lua.LTTable, lua.LTFunction:
	default:
		badArgument(l, 3, "string/function/table", replacement)
	}
	limit := optInt(l, 4, len(s)+1)
	m := newMatcher(l, s, p)
	anchored := strings.HasPrefix(p, "^")
	if anchored {
		m.p = p[1:]
	}
	var b strings.Builder
	at, count := 0, 0
	for count < limit {
		end, err := m.match(at)
		if err != nil {
			throw(l, err.Error())
		}
		if end >= 0 {
			count++
			m.replace(l, &b, replacement, at, end)
			if b.Len() > maxString {
				throw(l, "resulting string too large")
			}
		}
		switch {
		case end > at:
			at = end
		case at < len(s):
			b.WriteByte(s[at])
			at++
		default:
			at = len(s) + 1
		}
		if at > len(s) || anchored {
			break
		}
	}
	if at < len(s) {
		b.WriteString(s[at:])
	}
	l.Push(lua.LString(b.String()))
	l.Push(lua.LNumber(count))
	return 2
}

func (m *matcher) replace(l *lua.LState, b *strings.Builder, replacement lua.LValue, start, end int) {
	var value lua.LValue
	switch r := replacement.(type) {
	case *lua.LTable:
		value = l.GetTable(r, m.first(l, start, end))
	case *lua.LFunction:
		saved := *m // the function may use other patterns, but never this matcher
		l.Push(r)
		n := m.push(l, start, end)
		l.Call(n, 1)
		value = l.Get(-1)
		l.Pop(1)
		*m = saved
	default:
		m.expand(l, b, lua.LVAsString(r), start, end)
		return
	}
	switch v := value.(type) {
	case lua.LString:
		b.WriteString(string(v))
	case lua.LNumber:
		b.WriteString(formatNumber(float64(v)))
	default:
		if lua.LVAsBool(value) {
			throw(l, "invalid replacement value (a "+value.Type().String()+")")
		}
		b.WriteString(m.s[start:end])
	}
}

// expand writes a replacement string, with %0–%9 and %%.
func (m *matcher) expand(l *lua.LState, b *strings.Builder, text string, start, end int) {
	for {
		at := strings.IndexByte(text, '%')
		if at < 0 {
			b.WriteString(text)
			return
		}
		b.WriteString(text[:at])
		if at+1 >= len(text) {
			throw(l, "invalid use of '%' in replacement string")
		}
		c := text[at+1]
		text = text[at+2:]
		switch {
		case c == '0' || c == '1' && m.level == 0:
			b.WriteString(m.s[start:end])
		case c >= '1' && c <= '9':
			i := int(c - '1')
			if i >= m.level {
				throw(l, fmt.Sprintf("invalid capture index %%%d in replacement string", i+1))
			}
			b.WriteString(lua.LVAsString(m.value(l, i)))
		case c == '%':
			b.WriteByte('%')
		default:
			throw(l, "invalid use of '%' in replacement string")
		}
	}
}
