//go:build !linux

package watch

import "strings"

// fold is the spelling under which paths are compared: file systems here ignore case more often than not, and the price of ignoring
// it where they do not is one superfluous look.
func fold(path string) string { return strings.ToLower(path) }
