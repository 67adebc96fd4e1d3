package computertools

import (
	"strings"
	"unicode/utf8"
)

// bytes64 is a field of the gateway protocol whose name ends in Base64: any bytes, as they are on the computer.
// encoding/json reads and writes a byte slice as base64 by itself.
type bytes64 []byte

// text is the bytes as a person reads them. Computers have no one encoding: what is not UTF-8 is read as ISO 8859-1, which
// is what CC:Tweaked's font holds for most of its upper half, so that nothing is lost.
func (b bytes64) text() string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	for _, c := range []byte(b) {
		out.WriteRune(rune(c))
	}
	return out.String()
}
