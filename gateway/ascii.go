package gateway

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// isASCII reports whether b holds only bytes below 0x7f: what every version of CC:Tweaked passes on unchanged.
func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= 0x7f {
			return false
		}
	}
	return true
}

// appendASCII appends valid JSON text to dst with everything from 0x7f up written as \uXXXX. Such bytes can stand only
// inside of strings, so that no parsing is needed. Invalid UTF-8 becomes \ufffd, as encoding/json would have it.
func appendASCII(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		if c < 0x7f {
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		i += size
		dst = appendEscape(dst, r)
	}
	return dst
}

func appendEscape(dst []byte, r rune) []byte {
	if r > 0xffff {
		hi, lo := utf16.EncodeRune(r)
		return appendEscape(appendEscape(dst, hi), lo)
	}
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// appendString appends s as a JSON string in ASCII.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r >= 0x20 && r < 0x7f:
			dst = append(dst, byte(r))
		default:
			dst = appendEscape(dst, r)
		}
	}
	return append(dst, '"')
}

// cleanText makes one printable line of text that a computer sent: valid UTF-8, control characters as spaces, at most
// limit bytes. Bytes that are not UTF-8 are taken for Latin-1, which is what the game's strings are.
func cleanText(s string, limit int) string {
	s = toUTF8(s)
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || (r >= 0x80 && r < 0xa0) || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, s)
	return cutText(s, limit)
}

// cutText cuts s to at most limit bytes, at a character's boundary.
func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

func toUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}
