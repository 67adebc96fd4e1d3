package policy

import "github.com/traposd/traposd/daemon/glob"

// globs are patterns for names: * stands for any characters, ? for one byte.
type globs []string

// fit reports whether one of the patterns fits one of the names. An empty name fits nothing, not even *.
func (g globs) fit(names ...string) bool {
	for _, pattern := range g {
		for _, name := range names {
			if name != "" && glob.MatchBytes(pattern, name) {
				return true
			}
		}
	}
	return false
}
