package craftos

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
)

// maxJSONDepth is where nesting overflows; the game's parser, written in Lua, overflows its stack.
const maxJSONDepth = 16_000

// cannotSerialise begins the errors of both serialisers.
const cannotSerialise = "Cannot serialize "

// openTextutils installs the parts of textutils that are heavy: the rom adds the rest.
func (m *machine) openTextutils() {
	lib := newTable()
	c := &jsonCodec{emptyArray: newTable(), null: newTable()}
	for name, marker := range map[string]*lua.LTable{"empty_json_array": c.emptyArray, "json_null": c.null} {
		meta := newTable()
		m.setFuncs(meta, map[string]lua.LGFunction{
			"__newindex": func(l *lua.LState) int {
				throw(l, "attempt to mutate textutils."+name)
				return 0
			},
			"__tostring": func(l *lua.LState) int {
				l.Push(lua.LString(map[string]string{"empty_json_array": "[]", "json_null": "null"}[name]))
				return 1
			},
		})
		marker.Metatable = meta
		lib.RawSetString(name, marker)
	}
	funcs := map[string]lua.LGFunction{}
	for _, s := range []string{"s", "z"} {
		funcs["seriali"+s+"eJSON"] = c.serialise
		funcs["unseriali"+s+"eJSON"] = c.unserialise
		funcs["seriali"+s+"e"] = luaSerialise
	}
	m.setFuncs(lib, funcs)
	m.root.SetGlobal("textutils", lib)
}

// jsonCodec is textutils' JSON, with the peculiarities of CC:Tweaked's.
type jsonCodec struct{ emptyArray, null *lua.LTable }

type jsonWriter struct {
	*jsonCodec
	b        strings.Builder
	active   map[*lua.LTable]bool // true: being written; false: written before
	repeated bool                 // repetitions are allowed
	unicode  bool                 // strings are UTF-8 rather than bytes
	nbt      bool
}

func (c *jsonCodec) serialise(l *lua.LState) int {
	w := &jsonWriter{jsonCodec: c, active: map[*lua.LTable]bool{}}
	value := l.Get(1)
	switch value.Type() {
	case lua.LTTable, lua.LTString, lua.LTNumber, lua.LTBool:
	default:
		badArgument(l, 1, "table, string, number or boolean", value)
	}
	switch options := l.Get(2).(type) {
	case lua.LBool:
		w.nbt = bool(options)
	case *lua.LTable:
		w.nbt = lua.LVAsBool(options.RawGetString("nbt_style"))
		w.unicode = lua.LVAsBool(options.RawGetString("unicode_strings"))
		w.repeated = lua.LVAsBool(options.RawGetString("allow_repetitions"))
	}
	if err := w.value(value, 0); err != nil {
		throw(l, err.Error())
	}
	l.Push(lua.LString(w.b.String()))
	return 1
}

func (w *jsonWriter) value(v lua.LValue, depth int) error {
	if depth > maxJSONDepth {
		return gameError("stack overflow")
	}
	if w.b.Len() > maxString {
		return gameError("not enough memory")
	}
	switch v := v.(type) {
	case *lua.LTable:
		switch v {
		case w.emptyArray:
			w.b.WriteString("[]")
			return nil
		case w.null:
			w.b.WriteString("null")
			return nil
		}
		return w.table(v, depth)
	case lua.LString:
		return w.string(string(v))
	case lua.LNumber:
		w.b.WriteString(formatNumber(float64(v))) // nan and inf come out bare: invalid JSON, as in the game
		return nil
	case lua.LBool:
		w.b.WriteString(v.String())
		return nil
	}
	return gameError(cannotSerialise + "type " + v.Type().String())
}

// table writes an object when there is any string key, and then drops what is in the array part; otherwise an array up
// to the largest integer key, with nulls in its holes.
func (w *jsonWriter) table(t *lua.LTable, depth int) error {
	if writing, seen := w.active[t]; seen {
		if writing {
			return gameError(cannotSerialise + "table with recursive entries")
		}
		return gameError(cannotSerialise + "table with repeated entries")
	}
	w.active[t] = true
	defer func() {
		if w.repeated {
			delete(w.active, t)
		} else {
			w.active[t] = false
		}
	}()
	object, largest := false, 0.0
	for key, _ := t.Next(lua.LNil); key != lua.LNil; key, _ = t.Next(key) {
		switch key := key.(type) {
		case lua.LString:
			object = true
		case lua.LNumber:
			largest = max(largest, float64(key))
		}
	}
	if object || largest < 1 {
		return w.object(t, depth)
	}
	w.b.WriteByte('[')
	for i := 1; float64(i) <= largest; i++ {
		if i > 1 {
			w.b.WriteByte(',')
		}
		item := t.RawGet(lua.LNumber(i))
		if item == lua.LNil {
			w.b.WriteString("null")
			if w.b.Len() > maxString {
				return gameError("not enough memory")
			}
		} else if err := w.value(item, depth+1); err != nil {
			return err
		}
	}
	w.b.WriteByte(']')
	return nil
}

func (w *jsonWriter) object(t *lua.LTable, depth int) error {
	w.b.WriteByte('{')
	first := true
	for key, item := t.Next(lua.LNil); key != lua.LNil; key, item = t.Next(key) {
		name, ok := key.(lua.LString)
		if !ok {
			continue
		}
		if !first {
			w.b.WriteByte(',')
		}
		first = false
		if w.nbt {
			w.b.WriteString(string(name))
		} else if err := w.string(string(name)); err != nil {
			return err
		}
		w.b.WriteByte(':')
		if err := w.value(item, depth+1); err != nil {
			return err
		}
	}
	w.b.WriteByte('}')
	return nil
}

// string writes ASCII: each byte above 0x7e becomes \u00XX, unless the strings are said to be UTF-8.
func (w *jsonWriter) string(s string) error {
	w.b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			w.b.WriteByte('\\')
			w.b.WriteByte(c)
		case c == '\n':
			w.b.WriteString(`\n`)
		case c == '\r':
			w.b.WriteString(`\r`)
		case c == '\t':
			w.b.WriteString(`\t`)
		case c == '\b':
			w.b.WriteString(`\b`)
		case c == '\f':
			w.b.WriteString(`\f`)
		case c >= 0x20 && c < 0x7f:
			w.b.WriteByte(c)
		case w.unicode && c >= 0x80:
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size <= 1 {
				return gameError("string is not valid UTF-8")
			}
			i += size - 1
			if r > 0xffff {
				r -= 0x10000
				fmt.Fprintf(&w.b, `\u%04X\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			} else {
				fmt.Fprintf(&w.b, `\u%04X`, r)
			}
		default:
			fmt.Fprintf(&w.b, `\u%04X`, c)
		}
	}
	w.b.WriteByte('"')
	return nil
}

// jsonError is a malformed text; position counts from 1.
type jsonError struct {
	position int
	message  string
}

type jsonReader struct {
	*jsonCodec
	l          *lua.LState
	s          string
	pos        int // from 0
	parseNull  bool
	emptyArray bool
	nbt        bool
}

func (c *jsonCodec) unserialise(l *lua.LState) int {
	r := &jsonReader{jsonCodec: c, l: l, s: checkString(l, 1), emptyArray: true}
	if options, ok := l.Get(2).(*lua.LTable); ok {
		r.parseNull = lua.LVAsBool(options.RawGetString("parse_null"))
		r.nbt = lua.LVAsBool(options.RawGetString("nbt_style"))
		r.emptyArray = options.RawGetString("parse_empty_array") != lua.LFalse
	}
	value, failure := r.document()
	if failure != nil {
		return pushFailure(l, fmt.Sprintf("Malformed JSON at position %d: %s", failure.position, failure.message))
	}
	l.Push(value)
	return 1
}

func (r *jsonReader) document() (value lua.LValue, failure *jsonError) {
	defer func() {
		if p := recover(); p != nil {
			var ok bool
			if failure, ok = p.(*jsonError); !ok {
				panic(p)
			}
		}
	}()
	r.skip()
	value = r.value(0)
	r.skip()
	if r.pos < len(r.s) {
		r.fail(r.pos, "Unexpected trailing character %q.", r.s[r.pos:r.pos+1])
	}
	return value, nil
}

func (r *jsonReader) fail(at int, format string, args ...any) {
	panic(&jsonError{at + 1, fmt.Sprintf(format, args...)})
}

func (r *jsonReader) skip() {
	for r.pos < len(r.s) && strings.IndexByte(" \n\r\t", r.s[r.pos]) >= 0 {
		r.pos++
	}
}

func (r *jsonReader) peek() byte {
	if r.pos >= len(r.s) {
		return 0
	}
	return r.s[r.pos]
}

func (r *jsonReader) value(depth int) lua.LValue {
	if depth > maxJSONDepth {
		throw(r.l, "stack overflow")
	}
	if r.pos >= len(r.s) {
		r.fail(r.pos, "Unexpected end of input.")
	}
	switch c := r.s[r.pos]; {
	case c == '"' || c == '\'' && r.nbt:
		return lua.LString(r.string(c))
	case c == '-' || c >= '0' && c <= '9':
		return r.number()
	case c == '{':
		return r.object(depth)
	case c == '[':
		return r.array(depth)
	case isLetter(c):
		return r.identifier()
	default:
		r.fail(r.pos, "Unexpected character %q.", string([]byte{c}))
	}
	return nil
}

func (r *jsonReader) identifier() lua.LValue {
	start := r.pos
	for isLetter(r.peek()) {
		r.pos++
	}
	switch word := r.s[start:r.pos]; word {
	case "true":
		return lua.LTrue
	case "false":
		return lua.LFalse
	case "null":
		if r.parseNull {
			return r.null
		}
		return lua.LNil
	default:
		r.fail(start, "Unknown identifier %q.", word)
	}
	return nil
}

// number reads what tonumber reads; an integer beyond 64 bits wraps around, as in the game.
func (r *jsonReader) number() lua.LValue {
	start := r.pos
	digits := func() {
		for c := r.peek(); c >= '0' && c <= '9'; c = r.peek() {
			r.pos++
		}
	}
	if r.peek() == '-' {
		r.pos++
	}
	digits()
	integer := true
	if r.peek() == '.' {
		integer = false
		r.pos++
		digits()
	}
	if c := r.peek(); c == 'e' || c == 'E' {
		integer = false
		r.pos++
		if c := r.peek(); c == '+' || c == '-' {
			r.pos++
		}
		digits()
	}
	text := r.s[start:r.pos]
	if integer && len(text) > 18 {
		if _, err := strconv.ParseInt(text, 10, 64); errors.Is(err, strconv.ErrRange) {
			return lua.LNumber(wrapInteger(text))
		}
	}
	f, ok := parseNumber(text)
	if !ok {
		r.fail(start, "Malformed number %q.", text)
	}
	return lua.LNumber(f)
}

func wrapInteger(text string) int64 {
	var n int64
	for _, c := range strings.TrimPrefix(text, "-") {
		n = n*10 + int64(c-'0')
	}
	if strings.HasPrefix(text, "-") {
		return -n
	}
	return n
}

var jsonEscapes = map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', '"': '"', '\'': '\'', '/': '/', '\\': '\\'}

// string reads a string. Each \uXXXX becomes the UTF-8 of its code point by itself, so that an escaped surrogate pair
// becomes six bytes that are not UTF-8.
func (r *jsonReader) string(quote byte) string {
	start := r.pos
	r.pos++
	if end := strings.IndexAny(r.s[r.pos:], "\"'\\\n"); end >= 0 && r.s[r.pos+end] == quote {
		text := r.s[r.pos : r.pos+end]
		r.pos += end + 1
		return text
	}
	var b strings.Builder
	for {
		if r.pos >= len(r.s) {
			r.fail(start, "Unexpected end of input, expected '%c'.", quote)
		}
		c := r.s[r.pos]
		switch c {
		case quote:
			r.pos++
			return b.String()
		case '\n':
			r.fail(r.pos, "Unexpected new line in string.")
		case '\\':
			r.escape(&b)
		default:
			b.WriteByte(c)
			r.pos++
		}
	}
}

func (r *jsonReader) escape(b *strings.Builder) {
	r.pos++
	c := r.peek()
	if c == 'u' {
		end := r.pos + 5
		if end > len(r.s) {
			r.fail(r.pos, "Malformed unicode escape %q.", r.s[r.pos:])
		}
		code, err := strconv.ParseUint(r.s[r.pos+1:end], 16, 16)
		if err != nil {
			r.fail(r.pos, "Malformed unicode escape %q.", r.s[r.pos+1:end])
		}
		switch {
		case code < 0x80:
			b.WriteByte(byte(code))
		case code < 0x800:
			b.Write([]byte{byte(0xc0 | code>>6), byte(0x80 | code&0x3f)})
		default:
			b.Write([]byte{byte(0xe0 | code>>12), byte(0x80 | code>>6&0x3f), byte(0x80 | code&0x3f)})
		}
		r.pos = end
		return
	}
	plain, ok := jsonEscapes[c]
	if !ok {
		r.fail(r.pos, "Unknown escape character %q.", string([]byte{c}))
	}
	b.WriteByte(plain)
	r.pos++
}

func (r *jsonReader) array(depth int) lua.LValue {
	r.pos++
	r.skip()
	t := r.l.CreateTable(0, 0)
	if r.peek() == ']' {
		r.pos++
		if r.emptyArray {
			return r.jsonCodec.emptyArray
		}
		return t
	}
	for i := 1; ; {
		r.skip()
		item := r.value(depth + 1)
		if item != lua.LNil || !r.nbt {
			if item != lua.LNil {
				t.RawSet(lua.LNumber(i), item)
			}
			i++
		}
		r.skip()
		switch r.peek() {
		case ',':
			r.pos++
		case ']':
			r.pos++
			return t
		default:
			r.unexpected("Expected ',' or ']'.")
		}
	}
}

func (r *jsonReader) unexpected(expected string) {
	if r.pos >= len(r.s) {
		r.fail(r.pos, "Unexpected end of input, %s", strings.ToLower(expected[:1])+expected[1:])
	}
	r.fail(r.pos, "Unexpected character %q, %s", r.s[r.pos:r.pos+1], strings.ToLower(expected[:1])+expected[1:])
}

func (r *jsonReader) object(depth int) lua.LValue {
	r.pos++
	r.skip()
	t := r.l.CreateTable(0, 0)
	if r.peek() == '}' {
		r.pos++
		return t
	}
	for {
		r.skip()
		if r.peek() != '"' {
			r.unexpected("Expected object key.")
		}
		name := r.string('"')
		r.skip()
		if r.peek() != ':' {
			r.unexpected("Expected ':'.")
		}
		r.pos++
		r.skip()
		t.RawSetString(name, r.value(depth+1))
		r.skip()
		switch r.peek() {
		case ',':
			r.pos++
		case '}':
			r.pos++
			return t
		default:
			r.unexpected("Expected ',' or '}'.")
		}
	}
}
