package daemon

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/traposd/traposd/daemon/glob"
	"github.com/traposd/traposd/mcpconfig"
)

// Bounds of the filters in a file.
const (
	maxFilterKeys   = 256 // servers, workspaces or clients of one object
	maxPatterns     = 256 // of one list
	maxPatternBytes = 256
)

// filterReader reads the `filters` of traposd.json and collects all that is wrong with them. An unknown key is an error
// here: a filter with a slip of the pen in it would hide nothing.
type filterReader struct {
	path     string
	data     []byte
	problems mcpconfig.Problems
}

// readFilters reads the value of `filters`. With a problem, what was read is of no use.
func readFilters(path string, data []byte, value hujson.Value) (filters, mcpconfig.Problems) {
	r := &filterReader{path: path, data: data}
	var f filters
	at := r.place("filters", value.StartOffset)
	f.everyone = r.scope(value, at, map[string]func(hujson.Value, place){
		"workspaces": func(v hujson.Value, at place) {
			f.workspaces = r.scopes(v, at, "a workspace's name or its absolute path")
		},
		"clients": func(v hujson.Value, at place) { f.clients = exactFirst(r.scopes(v, at, "a client's name")) },
	})
	return f, r.problems
}

// closedFilters hide everything: what the file at path says of filters cannot be told.
func closedFilters(path string) filters {
	return filters{closed: "filters in " + filepath.Base(path) + ", which cannot be read and have no last good version; see `traposd status`"}
}

func (r *filterReader) place(field string, offset int) place {
	line, column := position(r.data, offset)
	return place{field: field, line: line, column: column}
}

// within is the place of a member.
func (r *filterReader) within(p place, key string, offset int) place {
	plain := key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-*?") == ""
	if plain {
		return r.place(p.field+"."+key, offset)
	}
	return r.place(fmt.Sprintf("%s[%q]", p.field, key), offset)
}

// String is the place as clients are told it.
func (p place) String() string {
	return fmt.Sprintf("%s (%s:%d:%d)", p.field, ownFileName, p.line, p.column)
}

func (r *filterReader) wrong(at place, format string, args ...any) {
	r.problems = append(r.problems, mcpconfig.Problem{
		Severity: mcpconfig.SeverityError, Path: r.path, Scope: mcpconfig.ScopeSupplied,
		Line: at.line, Column: at.column, Field: at.field, Message: fmt.Sprintf(format, args...),
	})
}

// object hands out the members of an object; a key that comes twice is wrong.
func (r *filterReader) object(value hujson.Value, at place, what string, take func(key string, value hujson.Value, at place)) {
	object, ok := value.Value.(*hujson.Object)
	if !ok {
		r.wrong(at, "must be an object: %s", what)
		return
	}
	if len(object.Members) > maxFilterKeys {
		r.wrong(at, "has %d keys; the limit is %d", len(object.Members), maxFilterKeys)
		return
	}
	seen := map[string]bool{}
	for _, m := range object.Members {
		key := m.Name.Value.(hujson.Literal).String()
		here := r.within(at, key, m.Name.StartOffset)
		switch {
		case seen[key]:
			r.wrong(here, "is given twice")
		case key == "" || len(key) > maxPatternBytes:
			r.wrong(here, "a key must have 1 to %d bytes", maxPatternBytes)
		default:
			take(key, m.Value, here)
		}
		seen[key] = true
	}
}

const scopeKeys = "compact, computers and servers"

// scope reads what is said for everyone, a workspace or a client; more are the keys that only some of these have.
func (r *filterReader) scope(value hujson.Value, at place, more map[string]func(hujson.Value, place)) filterScope {
	s := filterScope{place: at}
	what := "it has " + scopeKeys
	if more != nil {
		what = "it has compact, computers, servers, workspaces and clients"
	}
	r.object(value, at, what, func(key string, value hujson.Value, here place) {
		switch key {
		case "compact":
			b, ok := boolean(value)
			if !ok {
				r.wrong(r.place(here.field, value.StartOffset), "must be true or false")
			}
			s.compact = &b
		case "computers":
			rule := r.rule(value, here)
			s.computers = &rule
		case "servers":
			r.object(value, r.place(here.field, value.StartOffset), "server names, or patterns of them, with a filter each",
				func(key string, value hujson.Value, here place) {
					rule := r.rule(value, here)
					rule.key = key
					s.servers = append(s.servers, rule)
				})
			s.servers = exactRulesFirst(s.servers)
		default:
			if take := more[key]; take != nil {
				take(value, r.place(here.field, value.StartOffset))
				return
			}
			r.wrong(here, "is no key of a filter: %s", what)
		}
	})
	return s
}

// scopes reads the filters of workspaces or clients.
func (r *filterReader) scopes(value hujson.Value, at place, what string) (all []filterScope) {
	r.object(value, at, "each key is "+what, func(key string, value hujson.Value, here place) {
		s := r.scope(value, here, nil)
		s.key = key
		all = append(all, s)
	})
	return all
}

// rule reads what is said of one server's tools: an object with allow and deny, or a boolean.
func (r *filterReader) rule(value hujson.Value, at place) toolRule {
	rule := toolRule{place: at}
	if b, ok := boolean(value); ok {
		rule.none = !b
		return rule
	}
	r.object(value, at, "allow and deny, each an array of patterns; or true or false for all tools", func(key string, value hujson.Value, here place) {
		switch key {
		case "allow":
			rule.allow = r.patterns(value, here)
		case "deny":
			rule.deny = r.patterns(value, here)
		default:
			r.wrong(here, "is no key of a filter: it has allow and deny")
		}
	})
	return rule
}

func (r *filterReader) patterns(value hujson.Value, at place) patterns {
	list, bad := texts(value)
	if bad >= 0 {
		r.wrong(r.place(at.field, bad), "must be an array of strings that are not empty: tool names, in which * stands for any characters and ? for one")
		return patterns{}
	}
	if len(list) > maxPatterns || slices.ContainsFunc(list, func(p string) bool { return len(p) > maxPatternBytes }) {
		r.wrong(at, "may have at most %d patterns of %d bytes", maxPatterns, maxPatternBytes)
	}
	return patterns{place: at, said: true, list: list}
}

func boolean(value hujson.Value) (is, ok bool) {
	literal, ok := value.Value.(hujson.Literal)
	if !ok {
		return false, false
	}
	return literal.Kind() == 't', literal.Kind() == 't' || literal.Kind() == 'f'
}

// exactFirst puts keys that match themselves only before patterns; both keep the order of the file.
func exactFirst(scopes []filterScope) []filterScope {
	slices.SortStableFunc(scopes, func(a, b filterScope) int { return order(a.key) - order(b.key) })
	return scopes
}

func exactRulesFirst(rules []toolRule) []toolRule {
	slices.SortStableFunc(rules, func(a, b toolRule) int { return order(a.key) - order(b.key) })
	return rules
}

func order(key string) int {
	if glob.IsPattern(key) {
		return 1
	}
	return 0
}
