//go:build !linux

package watch

import "strings"

// adviceFor says what to do about a failure of file events: nothing that could be said in general.
func adviceFor(error) string { return "" }

// fold is the spelling under which paths are compared: file systems here ignore case more often than not, and the price of ignoring
// it where they do not is one superfluous look.
func fold(path string) string { return strings.ToLower(path) }

// addAgain says whether a directory that is watched is added again with each look: here that would read it anew (kqueue) or interrupt its
// watch (Windows), and a directory made anew shows by its identity.
const addAgain = false
