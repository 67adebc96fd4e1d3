package craftos

import (
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Limits of Lua patterns, those of Lua itself.
const (
	maxCaptures     = 32
	maxPatternDepth = 200
)

// Marks in capture.length of captures that have no length.
const (
	captureUnfinished = -1
	capturePosition   = -2
)

type capture struct{ start, length int }

// matcher matches one Lua pattern against one string. It replaces gopher-lua's, whose gsub takes quadratic time and
// whose patterns lack %f and %g. Errors are thrown as patternError and caught by match.
type matcher struct {
	s, p     string
	captures [maxCaptures]capture
	level    int
	depth    int
	steps    int
	pause    func() // called now and then: a pattern may take longer than a computer may
}

// stepsPerPause is how much work lies between two pauses: less than a millisecond's.
const stepsPerPause = 1 << 15

func (m *matcher) step(n int) {
	if m.steps += n; m.steps >= stepsPerPause && m.pause != nil {
		m.steps = 0
		m.pause()
	}
}

type patternError struct{ error }

// match tries the pattern at one position and returns the end of the match, or -1.
func (m *matcher) match(at int) (end int, err error) {
	defer func() {
		if r := recover(); r != nil {
			failure, ok := r.(patternError)
			if !ok {
				panic(r)
			}
			end, err = -1, failure.error
		}
	}()
	m.level, m.depth = 0, 0
	return m.do(at, 0), nil
}

// search looks for the first match from a position on. Its end is -1 when there is none. A pattern that begins with ^
// is tried there only.
func (m *matcher) search(from int) (at, end int, err error) {
	anchored := strings.HasPrefix(m.p, "^")
	if anchored {
		m.p = m.p[1:]
	}
	for at = from; at <= len(m.s); at++ {
		if end, err = m.match(at); end >= 0 || err != nil || anchored {
			return at, end, err
		}
		if at == from && m.isSet() {
			at = m.beforeMember(at)
		}
	}
	return at, -1, nil
}

// isSet reports whether a pattern that was tried once, and is therefore well-formed, is one set and nothing else. Programs
// scan long texts for such a set to learn that no byte of it is there.
func (m *matcher) isSet() bool {
	return m.p != "" && m.p[0] == '[' && m.itemEnd(0) == len(m.p)
}

// beforeMember is the last position from at on with no member of the set, which is the whole pattern, up to it.
func (m *matcher) beforeMember(at int) int {
	var members [256]bool
	for c := range members {
		members[c] = m.inSet(byte(c), 0, len(m.p)-1)
	}
	m.step(len(m.s) - at)
	for at+1 < len(m.s) && !members[m.s[at+1]] {
		at++
	}
	return at
}

// newMatcher makes a matcher for a call of the coroutine that l belongs to.
func newMatcher(l *lua.LState, s, p string) *matcher {
	m := &matcher{s: s, p: p}
	if r := routineOf(l); r != nil {
		m.pause = r.look
	}
	return m
}

func (m *matcher) fail(format string, args ...any) {
	panic(patternError{fmt.Errorf(format, args...)})
}

var errPatternTooComplex = errors.New("pattern too complex")

func (m *matcher) do(s, p int) int {
	m.step(1)
	if m.depth++; m.depth > maxPatternDepth {
		panic(patternError{errPatternTooComplex})
	}
	defer func() { m.depth-- }()
	for p < len(m.p) {
		switch m.p[p] {
		case '(':
			if p+1 < len(m.p) && m.p[p+1] == ')' {
				return m.open(s, p+2, capturePosition)
			}
			return m.open(s, p+1, captureUnfinished)
		case ')':
			return m.close(s, p+1)
		case '$':
			if p+1 == len(m.p) {
				if s == len(m.s) {
					return s
				}
				return -1
			}
		case '%':
			if p+1 < len(m.p) {
				next, handled := m.escape(&s, p)
				if handled {
					if next < 0 {
						return -1
					}
					p = next
					continue
				}
			}
		}
		next, result, done := m.item(s, p)
		if done {
			return result
		}
		s, p = next, result
	}
	return s
}

// item matches the single-character item at p with its suffix. When done, result is what do returns; otherwise
// matching goes on at next in the string and at result in the pattern.
func (m *matcher) item(s, p int) (next, result int, done bool) {
	end := m.itemEnd(p)
	suffix := byte(0)
	if end < len(m.p) {
		suffix = m.p[end]
	}
	matches := s < len(m.s) && m.single(s, p, end)
	switch suffix {
	case '?':
		if matches {
			if result := m.do(s+1, end+1); result >= 0 {
				return 0, result, true
			}
		}
		return s, end + 1, false
	case '+':
		if !matches {
			return 0, -1, true
		}
		return 0, m.longest(s+1, p, end), true
	case '*':
		return 0, m.longest(s, p, end), true
	case '-':
		return 0, m.shortest(s, p, end), true
	}
	if !matches {
		return 0, -1, true
	}
	return s + 1, end, false
}

// escape handles %b, %f and %1–%9 at p. It returns where the pattern goes on, or -1 for no match; handled is false
// for other escapes.
func (m *matcher) escape(s *int, p int) (next int, handled bool) {
	switch c := m.p[p+1]; {
	case c == 'b':
		end := m.balance(*s, p+2)
		if end < 0 {
			return -1, true
		}
		*s = end
		return p + 4, true
	case c == 'f':
		p += 2
		if p >= len(m.p) || m.p[p] != '[' {
			m.fail("missing '[' after '%%f' in pattern")
		}
		end := m.itemEnd(p)
		var before, after byte
		if *s > 0 {
			before = m.s[*s-1]
		}
		if *s < len(m.s) {
			after = m.s[*s]
		}
		if m.inSet(before, p, end-1) || !m.inSet(after, p, end-1) {
			return -1, true
		}
		return end, true
	case c >= '0' && c <= '9':
		i := m.captureIndex(c)
		text := m.s[m.captures[i].start : m.captures[i].start+m.captures[i].length]
		if !strings.HasPrefix(m.s[*s:], text) {
			return -1, true
		}
		*s += len(text)
		return p + 2, true
	}
	return 0, false
}

func (m *matcher) captureIndex(c byte) int {
	i := int(c) - '1'
	if i < 0 || i >= m.level || m.captures[i].length == captureUnfinished {
		m.fail("invalid capture index %%%d", i+1)
	}
	if m.captures[i].length == capturePosition {
		m.fail("invalid capture index %%%d", i+1)
	}
	return i
}

func (m *matcher) open(s, p, mark int) int {
	if m.level >= maxCaptures {
		m.fail("too many captures")
	}
	m.captures[m.level] = capture{start: s, length: mark}
	m.level++
	result := m.do(s, p)
	if result < 0 {
		m.level--
	}
	return result
}

func (m *matcher) close(s, p int) int {
	open := -1
	for i := m.level - 1; i >= 0; i-- {
		if m.captures[i].length == captureUnfinished {
			open = i
			break
		}
	}
	if open < 0 {
		m.fail("invalid pattern capture")
	}
	m.captures[open].length = s - m.captures[open].start
	result := m.do(s, p)
	if result < 0 {
		m.captures[open].length = captureUnfinished
	}
	return result
}

func (m *matcher) balance(s, p int) int {
	if p+1 >= len(m.p) {
		m.fail("malformed pattern (missing arguments to '%%b')")
	}
	if s >= len(m.s) || m.s[s] != m.p[p] {
		return -1
	}
	begin, end, open := m.p[p], m.p[p+1], 1
	m.step(len(m.s) - s)
	for i := s + 1; i < len(m.s); i++ {
		switch m.s[i] {
		case end:
			if open--; open == 0 {
				return i + 1
			}
		case begin:
			open++
		}
	}
	return -1
}

func (m *matcher) longest(s, p, end int) int {
	n := 0
	for s+n < len(m.s) && m.single(s+n, p, end) {
		n++
	}
	m.step(n)
	if end+1 == len(m.p) {
		return s + n
	}
	for ; n >= 0; n-- {
		if result := m.do(s+n, end+1); result >= 0 {
			return result
		}
	}
	return -1
}

func (m *matcher) shortest(s, p, end int) int {
	for {
		if result := m.do(s, end+1); result >= 0 {
			return result
		}
		if s >= len(m.s) || !m.single(s, p, end) {
			return -1
		}
		s++
	}
}

// itemEnd returns where the single-character item at p ends.
func (m *matcher) itemEnd(p int) int {
	c := m.p[p]
	p++
	switch c {
	case '%':
		if p >= len(m.p) {
			m.fail("malformed pattern (ends with '%%')")
		}
		return p + 1
	case '[':
		if p < len(m.p) && m.p[p] == '^' {
			p++
		}
		for first := true; ; first = false {
			if p >= len(m.p) {
				m.fail("malformed pattern (missing ']')")
			}
			if m.p[p] == ']' && !first {
				return p + 1
			}
			if m.p[p] == '%' {
				p++
			}
			p++
		}
	}
	return p
}

func (m *matcher) single(s, p, end int) bool {
	c := m.s[s]
	switch m.p[p] {
	case '.':
		return true
	case '%':
		return inClass(c, m.p[p+1])
	case '[':
		return m.inSet(c, p, end-1)
	}
	return m.p[p] == c
}

// inSet tests c against the set whose '[' is at p and whose ']' is at last.
func (m *matcher) inSet(c byte, p, last int) bool {
	found := true
	p++
	if m.p[p] == '^' {
		found = false
		p++
	}
	for ; p < last; p++ {
		switch {
		case m.p[p] == '%':
			p++
			if inClass(c, m.p[p]) {
				return found
			}
		case p+2 < last && m.p[p+1] == '-':
			if m.p[p] <= c && c <= m.p[p+2] {
				return found
			}
			p += 2
		case m.p[p] == c:
			return found
		}
	}
	return !found
}

func inClass(c, class byte) bool {
	var in bool
	switch class | 0x20 {
	case 'a':
		in = isLetter(c)
	case 'c':
		in = c < 0x20 || c == 0x7f
	case 'd':
		in = c >= '0' && c <= '9'
	case 'g':
		in = c > 0x20 && c < 0x7f
	case 'l':
		in = c >= 'a' && c <= 'z'
	case 'p':
		in = c > 0x20 && c < 0x7f && !isLetter(c) && (c < '0' || c > '9')
	case 's':
		in = c == ' ' || c >= '\t' && c <= '\r'
	case 'u':
		in = c >= 'A' && c <= 'Z'
	case 'w':
		in = isLetter(c) || c >= '0' && c <= '9'
	case 'x':
		in = c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
	case 'z':
		in = c == 0
	default:
		return c == class
	}
	if !isLetter(class) {
		return c == class
	}
	return in == (class&0x20 != 0)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
