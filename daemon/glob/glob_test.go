package glob

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		text, bytes   bool
	}{
		{"", "", true, true},
		{"", "a", false, false},
		{"a", "a", true, true},
		{"a", "A", false, false},
		{"*", "", true, true},
		{"*", "x/y z", true, true},
		{"a*c", "abbc", true, true},
		{"a*c", "abcd", false, false},
		{"a*b*c", "aXbYbZc", true, true},
		{"a*b*c", "acb", false, false},
		{"*b*", "abc", true, true},
		{"**a", "bba", true, true},
		{"*?", "a", true, true},
		{"*?", "", false, false},
		{"?", "ab", false, false},
		{"a?c", "ac", false, false},
		{"a?c", "aéc", true, false},
		{"a??c", "aéc", false, true},
		{"[a]", "a", false, false},
		{"[a]", "[a]", true, true},
		{"*??b?", "€bc", false, true},
		{"*??b?", "x€bc", true, true},
		{"\xe9", "\xe8", false, false},
		{"*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaac", false, false},
		{strings.Repeat("*a", 100) + "b", strings.Repeat("a", 1000), false, false},
	} {
		if got := Match(c.pattern, c.name); got != c.text {
			t.Errorf("%q on %q: %v", c.pattern, c.name, got)
		}
		if got := MatchBytes(c.pattern, c.name); got != c.bytes {
			t.Errorf("%q on the bytes of %q: %v", c.pattern, c.name, got)
		}
	}
}
