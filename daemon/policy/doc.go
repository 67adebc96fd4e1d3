// Package policy decides what may be done to which computer: the `policy` part of traposd.json.
//
// A policy is a list of rules, read from the top: the first rule that fits a computer decides about it, alone, and what no
// rule fits is allowed. The package is pure: it reads no file, asks nobody and logs nothing. A Policy does not change once it
// is made, and may be used from many goroutines at once.
//
// Where there is doubt about what a pattern or a path means, `deny` and `ask` take the wider reading and `allow` the narrower
// one. What cannot be decided is denied.
package policy
