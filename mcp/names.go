package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// MaxName is the longest name of a tool, in bytes. The specification recommends 128, but the model APIs behind the
// clients refuse a tool whose name does not match ^[A-Za-z0-9_-]{1,64}$.
const MaxName = 64

const (
	separator  = "__" // between a server's name and a tool's; a name is never split on it
	hashLength = 8    // hex digits: 2^32 values, for the few names of one list that need one
)

// exposedName is the name under which a tool of a server is offered: `<prefix>__<tool>`, or the tool's own with an
// empty prefix. A name that had to be cleaned or shortened ends in a hash of what it was made from, so that it depends on
// nothing else and two tools that look alike after cleaning stay apart.
func exposedName(prefix, tool string) string {
	name := tool
	if prefix != "" {
		name = prefix + separator + tool
	}
	if isLegal(name) {
		return name
	}
	return hashedName(name, prefix, tool)
}

// hashedName is name, cleaned and cut to leave room for a hash of the parts.
func hashedName(name string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	clean := cleaned(name)
	return clean[:min(len(clean), MaxName-hashLength-1)] + "_" + hex.EncodeToString(sum[:hashLength/2])
}

// cleaned is s with every rune that is not allowed in a name replaced by an underscore.
func cleaned(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && isNameByte(byte(r)) {
			return r
		}
		return '_'
	}, s)
}

func isLegal(name string) bool {
	if name == "" || len(name) > MaxName {
		return false
	}
	for i := range len(name) {
		if !isNameByte(name[i]) {
			return false
		}
	}
	return true
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
