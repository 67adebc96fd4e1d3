package mcpconfig

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Transport says how a server is spoken to.
type Transport int

// The transports; the zero value belongs to an invalid entry.
const (
	TransportStdio Transport = iota + 1 // a child process, JSON-RPC lines on stdin and stdout
	TransportSSE                        // the HTTP+SSE transport of revision 2024-11-05
	TransportHTTP                       // Streamable HTTP
)

// String returns "stdio", "sse" or "http", the words that "type" has in the file, and "" for the zero value.
func (t Transport) String() string {
	switch t {
	case TransportStdio:
		return "stdio"
	case TransportSSE:
		return "sse"
	case TransportHTTP:
		return "http"
	}
	return ""
}

// MarshalText returns what String returns.
func (t Transport) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// EnvVar is one variable of a child's environment. With Unset (null in the file) the variable is taken away instead.
type EnvVar struct {
	Name  string
	Value Secret
	Unset bool
}

// Header is one HTTP header; the name keeps its spelling in the file.
type Header struct {
	Name  string
	Value Secret
}

// Server is one entry, expanded and validated. It is identified by its source's path and its name (ID).
type Server struct {
	Name      string
	Source    Source
	Transport Transport

	Inferred bool // a url without a type: taken to be SSE, which may be a mistake
	Disabled bool // switched off in the file
	Invalid  bool // has an error and no last good version: known for status and shadowing, never run
	LastGood bool // the file says something else now, which is broken; this is the version from before
	Hidden   bool // in no view: a stronger entry of the same name hides it everywhere

	// For stdio. Command is a path (absolute if it holds a separator) or a bare name to be looked up in PATH. Env is sorted
	// by name and holds the variables of EnvFile too, those of "env" winning. Cwd is absolute: that of the file, else the
	// workspace root, else the home folder; it is empty only if no home folder is known, and need not exist.
	Command Secret
	Args    []Secret
	Env     []EnvVar
	EnvFile Secret // absolute path of the file the variables came from; empty if none
	Cwd     Secret

	// For sse and http. URL is absolute, http or https; Headers are sorted by name.
	URL     Secret
	Headers []Header
	// AllowPlaintextCredentials lets headers travel over http:// to a host that is not this one. Only a supplied server
	// can have it.
	AllowPlaintextCredentials bool

	// Timeout limits a call and StartupTimeout a start; 0 means the default. The file's unit is the millisecond, as in
	// Claude Code, for both "timeout" and "startupTimeout".
	Timeout        time.Duration
	StartupTimeout time.Duration

	Shadows    []Source // the weaker entries of the same name, strongest first
	ShadowedBy Source   // the entry that hides this one in the merge of all workspaces; zero if it is visible there

	shownCommand, shownURL Secret   // as written, for check: placeholders unexpanded, defaults left out
	references             []Secret // paths of the files that values refer to, existing or not
	approval               *consent // see ApprovalHash
}

// appendFiles appends the paths of the files that the server's values came from.
func (s Server) appendFiles(paths []string) []string {
	if !s.EnvFile.IsZero() {
		paths = append(paths, s.EnvFile.Reveal())
	}
	for _, path := range s.references {
		paths = append(paths, path.Reveal())
	}
	return paths
}

// Runnable tells whether the server is to be run: neither off nor invalid nor hidden.
func (s Server) Runnable() bool { return !s.Disabled && !s.Invalid && !s.Hidden }

// ID identifies the running server: its source's path and its name. Two workspaces' servers of one name are two, a global
// one is the same for all. The path's # and % are escaped, so that the first # ends it.
func (s Server) ID() string {
	path := s.Source.Path
	if strings.ContainsAny(path, "%#") {
		path = idEscaper.Replace(path)
	}
	return path + "#" + s.Name
}

var idEscaper = strings.NewReplacer("%", "%25", "#", "%23")

// Equal tells whether both are the same server (ID), in the same state (Disabled, Invalid), that would run in the same
// way. Positions, Inferred, LastGood and what they shadow do not matter.
func (s Server) Equal(other Server) bool {
	return s.Name == other.Name && s.Source.Path == other.Source.Path &&
		s.Disabled == other.Disabled && s.Invalid == other.Invalid && s.runsLike(other)
}

func (s Server) runsLike(other Server) bool {
	return s.Transport == other.Transport &&
		s.AllowPlaintextCredentials == other.AllowPlaintextCredentials &&
		s.Timeout == other.Timeout && s.StartupTimeout == other.StartupTimeout &&
		s.Command.Equal(other.Command) && s.Cwd.Equal(other.Cwd) && s.URL.Equal(other.URL) &&
		slices.EqualFunc(s.Args, other.Args, Secret.Equal) &&
		slices.EqualFunc(s.Env, other.Env, func(a, b EnvVar) bool {
			return a.Name == b.Name && a.Unset == b.Unset && a.Value.Equal(b.Value)
		}) &&
		slices.EqualFunc(s.Headers, other.Headers, func(a, b Header) bool {
			return a.Name == b.Name && a.Value.Equal(b.Value)
		})
}

// String names the server, its transport and its source.
func (s Server) String() string {
	var b strings.Builder
	b.WriteString("server " + strconv.Quote(s.Name))
	for _, word := range []struct {
		set  bool
		text string
	}{{true, s.Transport.String()}, {s.Disabled, "disabled"}, {s.Invalid, "invalid"}, {s.LastGood, "last good"}, {s.Hidden, "hidden"}} {
		if word.set && word.text != "" {
			b.WriteString(" " + word.text)
		}
	}
	fmt.Fprintf(&b, " (%s %s", s.Source.Scope, printable(s.Source.Path))
	if s.Source.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", s.Source.Line, s.Source.Column)
	}
	b.WriteString(")")
	return b.String()
}

// Format writes what String returns, for every verb: the hashes and texts within are nobody's to print.
func (s Server) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue gives slog the name, scope, transport and path.
func (s Server) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("name", s.Name),
		slog.String("scope", s.Source.Scope.String()),
		slog.String("transport", s.Transport.String()),
		slog.String("path", s.Source.Path),
	)
}
