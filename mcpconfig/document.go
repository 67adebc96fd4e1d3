package mcpconfig

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// document is a text that the scanner found well formed, with positions. Values are ranges of its bytes; nothing is
// decoded before it is asked for, so that what is not ours to read costs no memory.
type document struct {
	data  []byte
	lines lineIndex
	long  []span // see scanner

	// kept is a copy of the bytes from keptAt on, of which the strings within it are parts instead of copies of their own.
	kept   string
	keptAt int
}

// value is a range of a document's bytes: one JSON value, no space around it.
type value struct{ start, end int }

// member is a name and a value of an object.
type member struct{ key, value value }

var byteOrderMark = []byte("\xef\xbb\xbf")

// parse checks a whole file and returns its outermost value. The document is there for positions also if there is an
// error. raw is not copied.
func parse(raw []byte) (*document, value, *syntaxError) {
	doc := &document{data: bytes.TrimPrefix(raw, byteOrderMark)}
	if err := checkEncoding(doc.data); err != nil {
		return doc, value{}, err
	}
	s := &scanner{data: doc.data, long: make([]span, 0, len(doc.data)/longValue+1)}
	if err := s.space(); err == nil && s.pos == len(doc.data) {
		return doc, value{}, &syntaxError{s.pos, `the file is empty: write {"mcpServers": {}} for no servers`}
	}
	start := s.pos
	s.pos = 0
	end, err := s.text()
	if err != nil {
		return doc, value{}, err
	}
	doc.long = s.long
	return doc, value{start, end}, nil
}

// checkEncoding refuses what is not UTF-8, and NUL.
func checkEncoding(data []byte) *syntaxError {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) ||
		len(data) >= 2 && (data[0] == 0) != (data[1] == 0) {
		return &syntaxError{0, "the file is UTF-16: save it as UTF-8"}
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return &syntaxError{i, "a NUL byte: this is no text file, or it is damaged"}
	}
	if utf8.Valid(data) {
		return nil
	}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			if !utf8.FullRune(data[i:]) {
				return &syntaxError{i, endMessage + ": a character is cut off"}
			}
			return &syntaxError{i, "invalid UTF-8: save the file as UTF-8"}
		}
		i += size
	}
	return nil
}

// position returns the line and the column, as Source counts them, of a byte.
func (d *document) position(offset int) (line, column int) {
	return d.lines.position(d.data, offset)
}

// kind returns the first byte of a value: '{', '[', '"', 't', 'f', 'n', or 0 for a number.
func (d *document) kind(v value) byte {
	if c := d.data[v.start]; c != '-' && !digit(c) {
		return c
	}
	return 0
}

// keep copies a value at once, for all strings in it that will be asked for until the next one is kept. They hold that copy,
// and so nothing of the rest of the file.
func (d *document) keep(v value) string {
	d.kept, d.keptAt = string(d.data[v.start:v.end]), v.start
	return d.kept
}

// raw returns a value as it is written.
func (d *document) raw(v value) string {
	if start, end := v.start-d.keptAt, v.end-d.keptAt; start >= 0 && end <= len(d.kept) {
		return d.kept[start:end]
	}
	return string(d.data[v.start:v.end])
}

// text returns the content of a string; half surrogate pairs become U+FFFD.
func (d *document) text(v value) string {
	content, _ := d.decode(v)
	return content
}

// decode returns the content of a string, and whether it is whole: without half surrogate pairs.
func (d *document) decode(v value) (content string, whole bool) {
	inner := d.data[v.start+1 : v.end-1]
	i := bytes.IndexByte(inner, '\\')
	if i < 0 {
		return d.raw(value{v.start + 1, v.end - 1}), true
	}
	whole = true
	var b strings.Builder
	b.Grow(len(inner))
	for ; i >= 0; i = nextBackslash(inner) {
		b.Write(inner[:i])
		inner = inner[i+1:]
		if inner[0] != 'u' {
			b.WriteByte(unescaped(inner[0]))
			inner = inner[1:]
			continue
		}
		r := hexRune(inner[1:5])
		inner = inner[5:]
		if utf16.IsSurrogate(r) {
			pair := rune(utf8.RuneError)
			if bytes.HasPrefix(inner, []byte(`\u`)) {
				pair = utf16.DecodeRune(r, hexRune(inner[2:6]))
			}
			if r = pair; r == utf8.RuneError {
				whole = false
			} else {
				inner = inner[6:]
			}
		}
		b.WriteRune(r)
	}
	b.Write(inner)
	return b.String(), whole
}

func nextBackslash(text []byte) int {
	if len(text) > 0 && text[0] == '\\' {
		return 0
	}
	return bytes.IndexByte(text, '\\')
}

func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

func hexRune(digits []byte) rune {
	var r rune
	for _, c := range digits {
		r = r<<4 | rune(hexValues[c])
	}
	return r
}

// members walks an object in its order, duplicates included.
func (d *document) members(object value) iter.Seq[member] {
	return func(yield func(member) bool) {
		i := d.skipSpace(object.start + 1)
		for d.data[i] != '}' {
			var m member
			m.key = value{i, d.skipValue(i)}
			i = d.skipSpace(d.skipSpace(m.key.end) + 1) // the colon
			m.value = value{i, d.skipValue(i)}
			if !yield(m) {
				return
			}
			i = d.next(m.value.end)
		}
	}
}

// elements walks an array.
func (d *document) elements(array value) iter.Seq[value] {
	return func(yield func(value) bool) {
		i := d.skipSpace(array.start + 1)
		for d.data[i] != ']' {
			v := value{i, d.skipValue(i)}
			if !yield(v) {
				return
			}
			i = d.next(v.end)
		}
	}
}

// next skips the comma after a value, if there is one.
func (d *document) next(i int) int {
	if i = d.skipSpace(i); d.data[i] == ',' {
		i = d.skipSpace(i + 1)
	}
	return i
}

func (d *document) skipSpace(i int) int {
	for i < len(d.data) {
		switch d.data[i] {
		case ' ', '\t', '\r', '\n':
			i++
		case '/':
			i = skipComment(d.data, i)
		default:
			return i
		}
	}
	return i
}

func (d *document) skipValue(i int) int {
	switch d.data[i] {
	case '"':
		return d.skipString(i)
	case '{', '[':
		return d.skipContainer(i)
	}
	for i < len(d.data) && (letter(d.data[i]) || digit(d.data[i]) || strings.IndexByte("+-.", d.data[i]) >= 0) {
		i++
	}
	return i
}

func (d *document) skipString(i int) int {
	for i++; d.data[i] != '"'; i++ {
		if d.data[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func (d *document) skipContainer(i int) int {
	start := i
	for depth := 0; ; {
		if i-start > longValue {
			if end := d.longEnd(start); end > 0 {
				return end
			}
			start = len(d.data) // not noted: do not ask again
		}
		switch d.data[i] {
		case '"':
			i = d.skipString(i)
			continue
		case '/':
			i = skipComment(d.data, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
}

// longEnd returns where the object or array that begins at start ends, or 0 if it is not noted.
func (d *document) longEnd(start int) int {
	i, found := slices.BinarySearchFunc(d.long, int32(start), func(s span, start int32) int { return cmp.Compare(s.start, start) })
	if !found {
		return 0
	}
	return int(d.long[i].end)
}

// namedValue is a member with its name decoded; whole as decode has it.
type namedValue struct {
	name       string
	whole      bool
	key, value value
}

// repetition is a name that an object has more than once.
type repetition struct {
	name         string
	first, again value // the keys
}

// object returns the members of an object, each name once, in their order, and the repetitions. over tells that there are
// more than limit members, of which only the first ones are returned. The members take scratch's memory if it suffices.
func (d *document) object(object value, limit int, scratch []namedValue) (members []namedValue, repeated []repetition, over bool) {
	likely := min(limit, (object.end-object.start)/usualMember)
	if members = scratch[:0]; cap(members) == 0 {
		members = make([]namedValue, 0, likely+1)
	}
	var index map[string]int // of members, made when they are too many to be searched one by one
	count := 0
	for m := range d.members(object) {
		if count++; count > limit {
			return members, repeated, true
		}
		name, whole := d.decode(m.key)
		if i := find(members, index, name); i >= 0 {
			repeated = append(repeated, repetition{name, members[i].key, m.key})
			continue
		}
		members = append(members, namedValue{name, whole, m.key, m.value})
		switch {
		case index != nil:
			index[name] = len(members) - 1
		case len(members) == maxSearched:
			index = make(map[string]int, max(likely, 2*maxSearched))
			for i, m := range members {
				index[m.name] = i
			}
		}
	}
	return members, repeated, false
}

const (
	maxSearched = 16  // up to how many members are searched one by one for a name
	usualMember = 256 // bytes of a member, to guess from an object's length how many there are
)

// find returns the place of the member of that name, or -1. index may be nil.
func find(members []namedValue, index map[string]int, name string) int {
	if index != nil {
		if i, found := index[name]; found {
			return i
		}
		return -1
	}
	for i := range members {
		if members[i].name == name {
			return i
		}
	}
	return -1
}

// compact appends a value without spaces, comments and trailing commas. It reads the value once, however deep it nests.
func (d *document) compact(out []byte, v value) []byte {
	for i := v.start; i < v.end; {
		switch c := d.data[i]; c {
		case ' ', '\t', '\r', '\n', '/':
			i = d.skipSpace(i)
		case '"':
			end := d.skipString(i)
			out = append(out, d.data[i:end]...)
			i = end
		case ',':
			if i = d.skipSpace(i + 1); d.data[i] != '}' && d.data[i] != ']' {
				out = append(out, ',')
			}
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}
