//go:build !linux

package watch

// adviceFor says what to do about a failure of file events: nothing that could be said in general.
func adviceFor(error) string { return "" }
