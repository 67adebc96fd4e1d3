package daemon

import (
	"path/filepath"
	"slices"

	"github.com/traposd/traposd/daemon/glob"
	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcpconfig"
)

// filters are the tool filters of traposd.json: which tools clients see, and whether as a list or in compact mode. They
// never change once read.
//
// A tool is shown to a client if the filters for everyone show it, those for the client do, and those for the workspace do.
// Where a path shows several workspaces, one that has the server and shows the tool is enough.
type filters struct {
	everyone   filterScope
	workspaces []filterScope
	clients    []filterScope // in the order in which they are tried

	// closed, if not empty, says why nothing is known of what is hidden: then everything is. It happens at a start only;
	// later there is a last good version.
	closed string
}

// filterScope is what the filters say for everyone, for a workspace or for a client.
type filterScope struct {
	key       string // a workspace's name or path, or a pattern of client names
	place     place
	compact   *bool // nil: not said
	computers *toolRule
	servers   []toolRule // in the order in which they are tried
}

// toolRule is what a filter says of one server's tools.
type toolRule struct {
	key         string // pattern of server names
	place       place
	none        bool     // no tool is shown
	allow, deny patterns // a tool is shown if one of allow matches, unless one of deny does
}

// patterns are a list of patterns; not said, it matches whatever its owner makes of that.
type patterns struct {
	place place
	said  bool
	list  []string
}

// place is where something stands in the file, in words for a client's eyes and as a position.
type place struct {
	field        string
	line, column int
}

// hides says what hides a tool of a server, empty if nothing does.
func (s filterScope) hides(of serverOf, tool string) string {
	if of.computers {
		if s.computers == nil {
			return ""
		}
		return s.computers.hides(tool)
	}
	for _, rule := range s.servers {
		if glob.Match(rule.key, of.name) {
			return rule.hides(tool)
		}
	}
	return ""
}

func (r toolRule) hides(tool string) string {
	switch {
	case r.none:
		return r.place.String()
	case r.deny.match(tool):
		return r.deny.place.String()
	case r.allow.said && !r.allow.match(tool):
		return r.allow.place.String()
	}
	return ""
}

func (p patterns) match(tool string) bool {
	return slices.ContainsFunc(p.list, func(pattern string) bool { return glob.Match(pattern, tool) })
}

// serverOf is whose tool is asked about.
type serverOf struct {
	computers bool   // ours
	name      string // the configured server's
}

// lenses are the filters as the view at a path needs them; none if they change nothing there. They are looked through later,
// by many goroutines, and hold on to these filters and views, not to those that come after.
func (f filters) lenses(v views, path string) []mcp.Lens {
	if f.closed != "" {
		return []mcp.Lens{{Hidden: func(string, string) string { return f.closed }}}
	}
	if f.empty() {
		return nil
	}
	concerned := v.workspacesAt(path)
	scopes := make([][]filterScope, len(concerned))
	for i, w := range concerned {
		scopes[i] = f.forWorkspace(w)
	}
	lens := func(client *filterScope) mcp.Lens {
		hidden := func(serverID, tool string) string {
			of := v.serverOf(serverID)
			if by := f.everyone.hides(of, tool); by != "" {
				return by
			}
			if client != nil {
				if by := client.hides(of, tool); by != "" {
					return by
				}
			}
			return hiddenInAll(concerned, scopes, of, serverID, tool)
		}
		return mcp.Lens{Hidden: hidden, Compact: f.compact(client, scopes)}
	}
	var all []mcp.Lens
	for i := range f.clients {
		l, pattern := lens(&f.clients[i]), f.clients[i].key
		l.Client = func(name string) bool { return glob.Match(pattern, name) }
		all = append(all, l)
	}
	return append(all, lens(nil))
}

func (f filters) empty() bool {
	return f.everyone.empty() && len(f.workspaces) == 0 && len(f.clients) == 0
}

func (s filterScope) empty() bool {
	return s.compact == nil && s.computers == nil && len(s.servers) == 0
}

// hiddenInAll says what hides a tool in each of the workspaces that have its server; empty if one shows it.
func hiddenInAll(concerned []workspaceView, scopes [][]filterScope, of serverOf, serverID, tool string) string {
	first := ""
	for i, w := range concerned {
		if !of.computers && !w.ids[serverID] {
			continue
		}
		by := ""
		for _, scope := range scopes[i] {
			if by = scope.hides(of, tool); by != "" {
				break
			}
		}
		if by == "" {
			return ""
		}
		if first == "" {
			first = by
		}
	}
	return first
}

// compact is the mode of a client, which may be nil: as said for it, else for the workspaces (if they agree), else for
// everyone.
func (f filters) compact(client *filterScope, workspaces [][]filterScope) bool {
	if client != nil && client.compact != nil {
		return *client.compact
	}
	var said []bool
	for _, scopes := range workspaces {
		for _, s := range scopes {
			if s.compact != nil {
				said = append(said, *s.compact)
				break
			}
		}
	}
	if len(said) > 0 && len(said) == len(workspaces) && len(slices.Compact(said)) == 1 {
		return said[0]
	}
	return f.everyone.compact != nil && *f.everyone.compact
}

// forWorkspace are the filters that name the workspace, by its name in paths or by its path.
func (f filters) forWorkspace(w workspaceView) (scopes []filterScope) {
	for _, s := range f.workspaces {
		if s.key == w.name || filepath.IsAbs(s.key) && filepath.Clean(s.key) == filepath.Clean(w.path) {
			scopes = append(scopes, s)
		}
	}
	return scopes
}

// strangers are warnings about servers and workspaces that the filters name and that are nowhere: what they were to hide
// may be shown under another name.
func (f filters) strangers(path string, set mcpconfig.Set, workspaces []Workspace) (problems mcpconfig.Problems) {
	warn := func(at place, message string) {
		problems = append(problems, mcpconfig.Problem{
			Severity: mcpconfig.SeverityWarning, Path: path, Scope: mcpconfig.ScopeSupplied,
			Line: at.line, Column: at.column, Field: at.field, Message: message,
		})
	}
	servers := func(s filterScope) {
		for _, rule := range s.servers {
			if _, known := set.Lookup(rule.key); !known && !glob.IsPattern(rule.key) {
				warn(rule.place, "no server is called that; see `traposd servers`")
			}
		}
	}
	servers(f.everyone)
	for _, s := range f.clients {
		servers(s)
	}
	known := workspaceViews(set, workspaces)
	for _, s := range f.workspaces {
		servers(s)
		if !slices.ContainsFunc(known, func(w workspaceView) bool { return len(filters{workspaces: []filterScope{s}}.forWorkspace(w)) > 0 }) {
			warn(s.place, "no workspace has that name or path; see `traposd workspace list`")
		}
	}
	return problems
}
