package policy

import "strings"

// globs are patterns for names: * stands for any characters, ? for one byte.
type globs []string

// fit reports whether one of the patterns fits one of the names. An empty name fits nothing, not even *.
func (g globs) fit(names ...string) bool {
	for _, pattern := range g {
		for _, name := range names {
			if name != "" && match(pattern, name) {
				return true
			}
		}
	}
	return false
}

// match holds a pattern against a whole name. It goes back to the last * only, so that its time is bounded by the product of
// both lengths.
func match(pattern, name string) bool {
	p, n, star, resume := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			resume++
			p, n = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
