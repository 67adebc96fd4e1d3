package mcpconfig

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Severity says how bad a Problem is.
type Severity int

// The severities, mildest first.
const (
	SeverityWarning Severity = iota + 1 // it works, perhaps not as was meant
	SeverityError                       // the entry, or the whole file, is not usable as it stands
)

// String returns "warning" or "error".
func (s Severity) String() string {
	switch s {
	case SeverityWarning:
		return "warning"
	case SeverityError:
		return "error"
	}
	return fmt.Sprintf("severity(%d)", int(s))
}

// MarshalText returns what String returns.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Problem is one diagnostic. Line and Column count as in Source. Server is "" when the whole file is meant, Field is ""
// when the whole entry is; a field within a field is written env.NAME, headers.NAME, args[0]. Message is one line, says
// what to write instead, and holds no value that was read.
type Problem struct {
	Severity      Severity `json:"severity"`
	Path          string   `json:"path"`
	Line          int      `json:"line"`
	Column        int      `json:"column"`
	Scope         Scope    `json:"scope"`
	Server        string   `json:"server"`
	Field         string   `json:"field"`
	Message       string   `json:"message"`
	KeptLastGood  bool     `json:"keptLastGood,omitempty"` // the last good version goes on being used
	wholeFileLost bool
}

// WholeFile tells whether the problem makes the whole file unusable, and not a single entry.
func (p Problem) WholeFile() bool { return p.wholeFileLost }

// String returns one line that editors can jump from: path:line:col: severity: server "x": field: message.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(printable(p.Path))
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(p.Severity.String() + ": ")
	if p.Server != "" {
		b.WriteString("server " + quoted(p.Server) + ": ")
	}
	if p.Field != "" {
		b.WriteString(printable(p.Field) + ": ")
	}
	b.WriteString(p.Message)
	if p.KeptLastGood {
		b.WriteString(" (the last good version stays in use)")
	}
	return b.String()
}

// Error returns what String returns, so that a Problem can be handed on as an error.
func (p Problem) Error() string { return p.String() }

// printable returns text as it is, or quoted if it could break out of its line or steer a terminal.
func printable(text string) string {
	for _, r := range text {
		if !strconv.IsPrint(r) {
			return strconv.Quote(text)
		}
	}
	return text
}

// Problems is what Load found, in the order of path and position.
type Problems []Problem

// Errors tells whether one of them is an error.
func (ps Problems) Errors() bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Severity == SeverityError })
}

// Err returns nil if there is no error among them, and otherwise all the errors joined, each a Problem for errors.As.
func (ps Problems) Err() error {
	var errs []error
	for _, p := range ps {
		if p.Severity == SeverityError {
			errs = append(errs, p)
		}
	}
	return errors.Join(errs...)
}

// String returns one line for each problem.
func (ps Problems) String() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

func (ps Problems) sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Server, b.Server),
			cmp.Compare(a.Field, b.Field),
		)
	})
}
