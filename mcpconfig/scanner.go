package mcpconfig

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds how deep objects and arrays may nest: ours need five levels, the foreign keys of a shared file may need
// more.
const maxDepth = 200

// syntaxError says what makes a text unreadable, and at which byte.
type syntaxError struct {
	offset  int
	message string
}

// scanner checks that a text is one JSON value, comments (// and /* */) and trailing commas allowed, and nothing else. It
// builds nothing but a note of where long values end: document walks what it found to be well formed.
type scanner struct {
	data  []byte
	pos   int
	depth int
	long  []span // the objects and arrays of more than longValue bytes down to longDepth, sorted by start
}

// span is a value's range in half the memory: files are of 4 MiB at most.
type span struct{ start, end int32 }

// Long values are skipped by a look-up, so that walking the levels that are read does not read everything again at each.
const (
	longValue = 128
	longDepth = 5
)

const endMessage = "unexpected end of the file"

func (s *scanner) fail(offset int, message string) *syntaxError {
	if offset < len(s.data) && conflictMarker(s.data, offset) {
		message = "a git conflict marker: resolve the merge conflict and remove the marker lines"
	}
	return &syntaxError{offset, message}
}

func (s *scanner) end(detail string) *syntaxError {
	return &syntaxError{len(s.data), endMessage + ": " + detail}
}

// conflictMarker tells whether a line that git puts around conflicting versions begins at offset.
func conflictMarker(data []byte, offset int) bool {
	if offset > 0 && data[offset-1] != '\n' {
		return false
	}
	for _, marker := range []string{"<<<<<<<", "=======", ">>>>>>>", "|||||||"} {
		if bytes.HasPrefix(data[offset:], []byte(marker)) {
			return true
		}
	}
	return false
}

// text scans the whole text and returns where its value ends. The caller has seen to it that it is not blank.
func (s *scanner) text() (end int, err *syntaxError) {
	if err := s.space(); err != nil {
		return 0, err
	}
	if err := s.value(); err != nil {
		return 0, err
	}
	end = s.pos
	if err := s.space(); err != nil {
		return 0, err
	}
	if s.pos < len(s.data) {
		return 0, s.fail(s.pos, "data after the end of the object: the file must hold one object and nothing else")
	}
	return end, nil
}

// space skips white space and comments; mostly there are none, which costs no call.
func (s *scanner) space() *syntaxError {
	if s.pos < len(s.data) && s.data[s.pos] > ' ' && s.data[s.pos] != '/' {
		return nil
	}
	return s.someSpace()
}

func (s *scanner) someSpace() *syntaxError {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		case '/':
			end := skipComment(s.data, s.pos)
			if end < 0 {
				if s.pos+1 < len(s.data) && s.data[s.pos+1] != '*' {
					return s.fail(s.pos, "a stray /: comments begin with // or /*")
				}
				return s.end("a comment is not closed")
			}
			s.pos = end
		default:
			return nil
		}
	}
	return nil
}

// skipComment returns the end of the comment that begins at i, or -1 if there is none or it is not closed.
func skipComment(data []byte, i int) int {
	if i+1 == len(data) {
		return -1
	}
	switch data[i+1] {
	case '/':
		length := bytes.IndexByte(data[i:], '\n')
		if length < 0 {
			return len(data)
		}
		return i + length + 1
	case '*':
		for i += 2; i+1 < len(data); i++ {
			if data[i] == '*' && data[i+1] == '/' {
				return i + 2
			}
		}
	}
	return -1
}

func (s *scanner) value() *syntaxError {
	if s.pos == len(s.data) {
		return s.end("a value is missing")
	}
	switch c := s.data[s.pos]; c {
	case '{':
		return s.container('}')
	case '[':
		return s.container(']')
	case '"':
		return s.string()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		if c == '-' || digit(c) {
			return s.number()
		}
		return s.fail(s.pos, valueHint(s.data[s.pos:]))
	}
}

// container scans an object or an array, whose closing byte is given, from its opening byte on.
func (s *scanner) container(closing byte) *syntaxError {
	if s.depth++; s.depth > maxDepth {
		return s.fail(s.pos, fmt.Sprintf("nested too deep: at most %d levels are read", maxDepth))
	}
	start, slot := s.pos, len(s.long)
	if s.depth <= longDepth {
		s.long = append(s.long, span{start: int32(start)}) // before those within it, so that they are sorted
	}
	s.pos++
	for first := true; ; first = false {
		if err := s.space(); err != nil {
			return err
		}
		if s.pos < len(s.data) && s.data[s.pos] == closing {
			break
		}
		if closing == '}' {
			if err := s.key(first); err != nil {
				return err
			}
		}
		if err := s.value(); err != nil {
			return err
		}
		if err := s.space(); err != nil {
			return err
		}
		if s.pos == len(s.data) {
			return s.end("a closing " + string(rune(closing)) + " is missing")
		}
		if s.data[s.pos] == closing {
			break
		}
		if s.data[s.pos] != ',' {
			return s.fail(s.pos, separatorHint(s.data[s.pos]))
		}
		s.pos++
	}
	s.pos++
	s.note(start, slot)
	s.depth--
	return nil
}

// note completes what long says of the container that ends here, or takes it away: then there are none within it either.
func (s *scanner) note(start, slot int) {
	switch {
	case s.depth > longDepth:
	case s.pos-start > longValue:
		s.long[slot].end = int32(s.pos)
	default:
		s.long = s.long[:slot]
	}
}

// key scans a member's name and its colon.
func (s *scanner) key(first bool) *syntaxError {
	if s.pos == len(s.data) {
		return s.end("a closing } is missing")
	}
	if s.data[s.pos] != '"' {
		if s.data[s.pos] == ',' && first {
			return s.fail(s.pos, "a comma without a value before it")
		}
		return s.fail(s.pos, keyHint(s.data[s.pos:]))
	}
	if err := s.string(); err != nil {
		return err
	}
	if err := s.space(); err != nil {
		return err
	}
	if s.pos == len(s.data) {
		return s.end("a colon and a value are missing")
	}
	if s.data[s.pos] != ':' {
		return s.fail(s.pos, "a colon is missing between a key and its value")
	}
	s.pos++
	return s.space()
}

func (s *scanner) string() *syntaxError {
	start := s.pos
	for s.pos++; s.pos < len(s.data); s.pos++ {
		switch c := s.data[s.pos]; {
		case c > '"' && c != '\\':
		case c == '"':
			s.pos++
			return nil
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		case c == '\n' || c == '\r':
			return s.fail(start, "a string that does not end on its line: a quotation mark is missing, or write \\n for a line break")
		case c < ' ':
			return s.fail(s.pos, "a control character in a string: write it as an escape such as \\t")
		}
	}
	return s.end("a string is not closed")
}

// escape scans an escape sequence from its backslash to its last byte.
func (s *scanner) escape() *syntaxError {
	start := s.pos
	s.pos++
	if s.pos == len(s.data) {
		return s.end("a string is not closed")
	}
	switch s.data[s.pos] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
		for range 4 {
			s.pos++
			if s.pos == len(s.data) {
				return s.end("a string is not closed")
			}
			if hexValues[s.data[s.pos]] < 0 {
				return s.fail(start, "a \\u escape needs four hexadecimal digits")
			}
		}
		return nil
	}
	return s.fail(start, "an unknown escape: write \\\\ for a backslash")
}

func (s *scanner) literal(word string) *syntaxError {
	rest := s.data[s.pos:]
	if len(rest) < len(word) && strings.HasPrefix(word, string(rest)) {
		return s.end("a value is cut off")
	}
	if !bytes.HasPrefix(rest, []byte(word)) {
		return s.fail(s.pos, valueHint(rest))
	}
	s.pos += len(word)
	return nil
}

// number scans -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?, RFC 8259 section 6.
func (s *scanner) number() *syntaxError {
	start := s.pos
	if s.data[s.pos] == '-' {
		s.pos++
	}
	wholeStart := s.pos
	if !s.digits() {
		return s.badNumber(start)
	}
	if s.data[wholeStart] == '0' && s.pos > wholeStart+1 {
		return s.fail(start, "a number may not begin with a zero")
	}
	if s.at('.') {
		s.pos++
		if !s.digits() {
			return s.badNumber(start)
		}
	}
	if s.at('e') || s.at('E') {
		s.pos++
		if s.at('+') || s.at('-') {
			s.pos++
		}
		if !s.digits() {
			return s.badNumber(start)
		}
	}
	if s.pos < len(s.data) && (letter(s.data[s.pos]) || s.at('.')) {
		return s.badNumber(start)
	}
	return nil
}

func (s *scanner) badNumber(start int) *syntaxError {
	if s.pos == len(s.data) {
		return s.end("a number is cut off")
	}
	return s.fail(start, "not a number as JSON writes them: no hexadecimal, no bare dot, no unit")
}

func (s *scanner) at(c byte) bool { return s.pos < len(s.data) && s.data[s.pos] == c }

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.data) && digit(s.data[s.pos]) {
		s.pos++
	}
	return s.pos > start
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' }

// hexValues holds the value of each hexadecimal digit, and -1 for all other bytes.
var hexValues = func() (values [256]int8) {
	for c := range values {
		values[c] = int8(strings.IndexByte("0123456789abcdef", lower(byte(c))))
	}
	return values
}()

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

const quoteHint = "strings need double quotes"

// valueHint says what to write instead of what stands where a value should. It repeats nothing of it.
func valueHint(rest []byte) string {
	switch c := rest[0]; {
	case c == '\'', c == '`':
		return quoteHint
	case typographicQuote(rest):
		return "typographic quotation marks: " + quoteHint + ` as in "x"`
	case c == '+':
		return "a number may not begin with +"
	case c == '.':
		return "a number may not begin with a dot"
	case c == ',':
		return "a comma without a value before it"
	case c == '}' || c == ']' || c == ':':
		return "a value is missing"
	case c == '#':
		return "comments begin with // here"
	case letter(c):
		return "not a value: " + quoteHint + ", and only true, false and null stand without"
	}
	return "a value should stand here: an object, an array, a string, a number, true, false or null"
}

func keyHint(rest []byte) string {
	switch c := rest[0]; {
	case c == '\'', c == '`':
		return "keys need double quotes"
	case typographicQuote(rest):
		return `typographic quotation marks: keys need double quotes as in "x"`
	case c == ',':
		return "a comma too many"
	case c == ']':
		return "a closing } is missing before this"
	case c == '#':
		return "comments begin with // here"
	case letter(c):
		return "keys need double quotes"
	}
	return "a key in double quotes, or the closing }, should stand here"
}

func separatorHint(c byte) string {
	switch c {
	case '}', ']':
		return "a bracket that closes nothing: one of the other kind is open"
	case '#':
		return "comments begin with // here"
	case ':':
		return "a colon that belongs to no key"
	case ';':
		return "a comma should stand here"
	}
	return "a comma is missing before this"
}

func typographicQuote(rest []byte) bool {
	r, _ := utf8.DecodeRune(rest)
	return strings.ContainsRune("“”„‟«»‘’‚‛", r) && r != utf8.RuneError
}
