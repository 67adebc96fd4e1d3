package craftos

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// plainEscapes rewrites the string escapes of Lua 5.2 and 5.3 that gopher-lua silently reads as something else (\xHH, \z
// and \u{…}) into decimal ones. Everything outside of quoted strings stays as it is.
func plainEscapes(source string) string {
	if !strings.Contains(source, `\x`) && !strings.Contains(source, `\z`) && !strings.Contains(source, `\u`) {
		return source
	}
	var b strings.Builder
	for i := 0; i < len(source); {
		end := i + 1
		switch c := source[i]; {
		case c == '"' || c == '\'':
			end = quotedEnd(source, i)
			b.WriteString(rewriteQuoted(source[i:end]))
			i = end
			continue
		case strings.HasPrefix(source[i:], "--"):
			end = i + 2
			if long := longBracketEnd(source, end); long > 0 {
				end = long
			} else if line := strings.IndexByte(source[i:], '\n'); line >= 0 {
				end = i + line
			} else {
				end = len(source)
			}
		case c == '[':
			if long := longBracketEnd(source, i); long > 0 {
				end = long
			}
		}
		b.WriteString(source[i:end])
		i = end
	}
	return b.String()
}

// quotedEnd returns where the quoted string that begins at i ends: after its closing quote, or at the end of the source.
func quotedEnd(source string, i int) int {
	quote := source[i]
	for i++; i < len(source); i++ {
		switch source[i] {
		case '\\':
			i++
			if i < len(source) && source[i] == 'z' { // what \z skips may hold newlines
				for i+1 < len(source) && strings.IndexByte(" \t\r\n\v\f", source[i+1]) >= 0 {
					i++
				}
			}
		case quote:
			return i + 1
		case '\n':
			return i // unfinished: the parser will say so
		}
	}
	return len(source)
}

// longBracketEnd returns the end of the long bracket that begins at i, or 0 when none does.
func longBracketEnd(source string, i int) int {
	if i >= len(source) || source[i] != '[' {
		return 0
	}
	level := 0
	for i++; i < len(source) && source[i] == '='; i++ {
		level++
	}
	if i >= len(source) || source[i] != '[' {
		return 0
	}
	closing := "]" + strings.Repeat("=", level) + "]"
	end := strings.Index(source[i:], closing)
	if end < 0 {
		return len(source)
	}
	return i + end + len(closing)
}

func rewriteQuoted(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 >= len(text) {
			b.WriteByte(text[i])
			continue
		}
		rest := text[i+2:]
		i++
		switch text[i] {
		case 'x':
			if len(rest) >= 2 {
				if value, err := strconv.ParseUint(rest[:2], 16, 8); err == nil {
					fmt.Fprintf(&b, "\\%03d", value)
					i += 2
					continue
				}
			}
		case 'z':
			i += len(rest) - len(strings.TrimLeft(rest, " \t\r\n\v\f"))
			continue
		case 'u':
			if digits, _, ok := strings.Cut(strings.TrimPrefix(rest, "{"), "}"); ok && strings.HasPrefix(rest, "{") {
				if value, err := strconv.ParseUint(digits, 16, 31); err == nil {
					for _, c := range utf8.AppendRune(nil, rune(value)) {
						fmt.Fprintf(&b, "\\%03d", c)
					}
					i += len(digits) + 2
					continue
				}
			}
		}
		b.WriteByte('\\')
		b.WriteByte(text[i])
	}
	return b.String()
}
