package computertools

import (
	"regexp"
	"strings"
)

// maxGlob bounds a pattern, in bytes.
const maxGlob = 256

// globOf compiles a pattern: * stands for any characters, ? for one. With separator "/" neither crosses a slash, and **
// crosses them: "lib/**/*.lua" is every Lua file at any depth below lib.
func globOf(pattern, separator string) (*regexp.Regexp, error) {
	if pattern == "" || len(pattern) > maxGlob {
		return nil, badRequest("a pattern has 1 to %d bytes", maxGlob)
	}
	one := "."
	if separator != "" {
		one = "[^" + regexp.QuoteMeta(separator) + "]"
	}
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for rest := pattern; rest != ""; {
		switch {
		case separator != "" && strings.HasPrefix(rest, "**"+separator):
			b.WriteString("(?:.*" + regexp.QuoteMeta(separator) + ")?")
			rest = rest[2+len(separator):]
		case separator != "" && strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			rest = rest[2:]
		case rest[0] == '*':
			b.WriteString(one + "*")
			rest = rest[1:]
		case rest[0] == '?':
			b.WriteString(one)
			rest = rest[1:]
		default:
			end := strings.IndexAny(rest, "*?")
			if end < 0 {
				end = len(rest)
			}
			b.WriteString(regexp.QuoteMeta(rest[:end]))
			rest = rest[end:]
		}
	}
	b.WriteString(`\z`)
	compiled, err := regexp.Compile(b.String())
	if err != nil {
		return nil, badRequest("the pattern cannot be used: it is not valid text")
	}
	return compiled, nil
}
