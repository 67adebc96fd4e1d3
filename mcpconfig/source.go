package mcpconfig

import (
	"fmt"
	"time"
)

// Scope says how specific a source is; the greater one wins.
type Scope int

// The scopes, weakest first.
const (
	ScopeGlobal    Scope = iota + 1 // mcp.json in the global configuration directory
	ScopeWorkspace                  // .mcp.json in a workspace root
	ScopeSupplied                   // given by the host: a flag, traposd.json, the Go API
)

// String returns "global", "workspace" or "supplied".
func (s Scope) String() string {
	switch s {
	case ScopeGlobal:
		return "global"
	case ScopeWorkspace:
		return "workspace"
	case ScopeSupplied:
		return "supplied"
	}
	return fmt.Sprintf("scope(%d)", int(s))
}

// MarshalText returns what String returns.
func (s Scope) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Source says where an entry stands. Line and Column count from 1, the column in characters (code points), a byte order
// mark not counted; both are 0 for what came from no file.
type Source struct {
	Path      string `json:"path"`
	Scope     Scope  `json:"scope"`
	Workspace string `json:"workspace,omitempty"` // the workspace root; "" when the scope is another
	Line      int    `json:"line,omitempty"`
	Column    int    `json:"column,omitempty"`
}

// IsZero tells whether the Source is the zero one, which stands for "none".
func (s Source) IsZero() bool { return s == Source{} }

// FileStatus says what became of one configuration file.
type FileStatus struct {
	Path      string    `json:"path"`
	Scope     Scope     `json:"scope"`
	Workspace string    `json:"workspace,omitempty"`
	Exists    bool      `json:"exists"`
	OK        bool      `json:"ok"` // read and parsed as a whole, or absent; single entries may be invalid all the same
	ModTime   time.Time `json:"modTime,omitzero"`
	Hash      string    `json:"-"` // SHA-256 of the bytes, hexadecimal; "" if they were not read
	Error     *Problem  `json:"error,omitempty"`
}
