// Package glob holds patterns against whole names, as they stand in traposd.json: * stands for any characters or none, ? for
// one, and case matters. Nothing else is special, so that every text is a valid pattern. Its functions keep no state.
package glob

import (
	"strings"
	"unicode/utf8"
)

// IsPattern reports whether a text can fit more than itself.
func IsPattern(text string) bool { return strings.ContainsAny(text, "*?") }

// Match reports whether a pattern fits a name; ? is one character of UTF-8.
func Match(pattern, name string) bool {
	return match(pattern, name, func(rest string) int {
		_, size := utf8.DecodeRuneInString(rest)
		return size
	})
}

// MatchBytes is Match for names in any encoding; ? is one byte.
func MatchBytes(pattern, name string) bool {
	return match(pattern, name, func(string) int { return 1 })
}

// match goes back to the last * only, so that its time is bounded by the product of both lengths. one is how many bytes the
// first character of a text has.
func match(pattern, name string, one func(rest string) int) bool {
	p, n, star, resume := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, n
			p++
		case p < len(pattern) && pattern[p] == '?':
			p++
			n += one(name[n:])
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case star >= 0:
			resume += one(name[resume:])
			p, n = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
