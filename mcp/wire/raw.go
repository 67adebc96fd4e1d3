package wire

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// Kind tells what a JSON value is by its first byte: '{', '[', '"', 't' (true), 'f', 'n' (null), '0' (any number), and 0
// for an empty value.
func Kind(value []byte) byte {
	i := skipSpace(value, 0)
	if i == len(value) {
		return 0
	}
	switch c := value[i]; c {
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return '0'
	default:
		return c
	}
}

// Members walks the members of a JSON object in their order, duplicates included. Keys are unescaped; values share
// object's memory and have no space around them. What is not an object has no members. object must be valid JSON.
func Members(object []byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		w := walkOf(object)
		for m, ok := w.next(); ok; m, ok = w.next() {
			key, _ := String(object[m.keyStart:m.keyEnd])
			if !yield(key, object[m.valueStart:m.valueEnd:m.valueEnd]) {
				return
			}
		}
	}
}

// Elements walks the elements of a JSON array; what is not an array has none. array must be valid JSON.
func Elements(array []byte) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		i := skipSpace(array, 0)
		if i == len(array) || array[i] != '[' {
			return
		}
		for i = skipSpace(array, i+1); i < len(array) && array[i] != ']'; {
			end := skipValue(array, i)
			if !yield(array[i:end:end]) {
				return
			}
			i = skipSpace(array, end)
			if i < len(array) && array[i] == ',' {
				i = skipSpace(array, i+1)
			}
		}
	}
}

// Get returns the first member of that name. object must be valid JSON.
func Get(object []byte, key string) (json.RawMessage, bool) {
	w := walkOf(object)
	for m, ok := w.next(); ok; m, ok = w.next() {
		if isKey(object[m.keyStart:m.keyEnd], key) {
			return object[m.valueStart:m.valueEnd:m.valueEnd], true
		}
	}
	return nil, false
}

// isKey reports whether the raw string is key. It allocates only if the string has an escape.
func isKey(raw []byte, key string) bool {
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner) == key
	}
	s, _ := String(raw)
	return s == key
}

// Set returns object with the member of that name replaced where it stands, or added at the end. Every other byte stays
// as it is; further members of the same name are removed. A nil or null object counts as empty. The result is new memory.
func Set(object []byte, key string, value json.RawMessage) json.RawMessage {
	if Kind(object) != '{' {
		object = []byte(`{}`)
	}
	out := make([]byte, 0, len(object)+len(key)+len(value)+4)
	copied, found := 0, false
	w := walkOf(object)
	for m, ok := w.next(); ok; m, ok = w.next() {
		if !isKey(object[m.keyStart:m.keyEnd], key) {
			continue
		}
		if found {
			out = append(out, object[copied:m.comma]...)
		} else {
			out = append(append(out, object[copied:m.valueStart]...), value...)
			found = true
		}
		copied = m.valueEnd
	}
	if found {
		return append(out, object[copied:]...)
	}
	end := bytes.LastIndexByte(object, '}')
	body := bytes.TrimRight(object[:end], " \t\r\n")
	out = append(out, body...)
	if body[len(body)-1] != '{' {
		out = append(out, ',')
	}
	out = AppendString(out, key)
	out = append(append(out, ':'), value...)
	return append(out, object[end:]...)
}

// Delete returns object without the members of that name; the others stay as they are, white space between them aside.
// The result is object itself if there was none.
func Delete(object []byte, key string) json.RawMessage {
	if _, found := Get(object, key); !found {
		return object
	}
	out := append(make([]byte, 0, len(object)), '{')
	w := walkOf(object)
	for m, ok := w.next(); ok; m, ok = w.next() {
		if isKey(object[m.keyStart:m.keyEnd], key) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, object[m.keyStart:m.valueEnd]...)
	}
	return append(out, '}')
}

// String decodes a JSON string; ok is false for anything else.
func String(value []byte) (s string, ok bool) {
	value = bytes.Trim(value, " \t\r\n")
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	inner := value[1 : len(value)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner), true
	}
	return s, json.Unmarshal(value, &s) == nil
}

// AppendString writes s as a JSON string after dst. It escapes what JSON must have escaped, and not what HTML must.
func AppendString(dst []byte, s string) []byte {
	if isPlain(s) {
		return append(append(append(dst, '"'), s...), '"')
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return append(dst, `""`...) // a string always encodes
	}
	return append(dst, bytes.TrimRight(buf.Bytes(), "\n")...)
}

// isPlain reports whether s stands for itself between quotes.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Quote returns s as a JSON string.
func Quote(s string) json.RawMessage { return AppendString(nil, s) }

// member holds the offsets of one member in its object; comma is that of the comma before it, or of its key if there is
// none.
type member struct {
	comma, keyStart, keyEnd, valueStart, valueEnd int
}

// walk goes over the members of one object; next must not be called again once it has returned false.
type walk struct {
	object []byte
	at     int // of the next member's key
	comma  int
}

func walkOf(object []byte) walk {
	i := skipSpace(object, 0)
	if i == len(object) || object[i] != '{' {
		return walk{at: len(object)}
	}
	i = skipSpace(object, i+1)
	return walk{object: object, at: i, comma: i}
}

func (w *walk) next() (m member, ok bool) {
	object := w.object
	if w.at >= len(object) || object[w.at] != '"' {
		return m, false
	}
	m = member{comma: w.comma, keyStart: w.at}
	m.keyEnd = skipString(object, w.at)
	m.valueStart = skipSpace(object, m.keyEnd)
	m.valueStart = skipSpace(object, m.valueStart+1) // the colon
	m.valueEnd = skipValue(object, m.valueStart)
	w.comma = skipSpace(object, m.valueEnd)
	w.at = len(object)
	if w.comma < len(object) && object[w.comma] == ',' {
		w.at = skipSpace(object, w.comma+1)
	}
	return m, true
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\n' || data[i] == '\r') {
		i++
	}
	return min(i, len(data))
}

// skipString returns the offset after the string that starts at i.
func skipString(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

// skipValue returns the offset after the value that starts at i.
func skipValue(data []byte, i int) int {
	depth := 0
	for i < len(data) {
		switch data[i] {
		case '"':
			i = skipString(data, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(data)
}
