package mcpconfig

import (
	"fmt"
	"slices"
	"strings"
)

// The bounds of what one file may hold.
const (
	maxServers  = 1000  // entries
	maxKeys     = 10000 // keys of the outermost object, and of an entry
	maxProblems = 1000  // problems reported; more are counted
)

// fileReader reads the entries of one file.
type fileReader struct {
	doc      *document
	source   Source // without line and column
	root     string // the key that holds the entries
	optional bool   // the key may be absent
	folders
	expander   expander
	self       []string
	privileged bool
	lastGood   func(name string) (Server, bool)

	problems Problems
	dropped  int
	flat     bool         // fields of one server stand where servers should
	files    []string     // envFiles and references of the entries, existing or not
	members  []namedValue // memory for those of an entry
	inner    []namedValue // and for those of its env and headers
	args     []Secret     // and for its arguments
	baseCwd  Secret       // base, once for all entries
}

// read returns the entries sorted by name, or what makes the whole file unusable.
func (r *fileReader) read(data []byte) ([]Server, *Problem) {
	doc, top, syntax := parse(data)
	r.doc = doc
	if syntax != nil {
		return nil, r.lost(syntax.offset, syntax.message)
	}
	if doc.kind(top) != '{' {
		return nil, r.lost(top.start, "not an object: the file must hold one { … } with the key "+r.root)
	}
	members, repeated, over := doc.object(top, maxKeys, nil)
	if over {
		return nil, r.lost(top.start, fmt.Sprintf("more than %d keys in the outermost object", maxKeys))
	}
	for _, twice := range repeated {
		return nil, r.lost(twice.again.start, r.twice("the key "+quoted(twice.name)+" is given", twice.first))
	}
	i := slices.IndexFunc(members, func(m namedValue) bool { return m.name == r.root })
	if i < 0 {
		if r.optional {
			return nil, nil
		}
		return nil, r.rootMissing(top, members)
	}
	return r.entries(members[i].value)
}

func (r *fileReader) entries(object value) ([]Server, *Problem) {
	if r.doc.kind(object) != '{' {
		return nil, r.lost(object.start, r.root+" is not an object: write { \"name\": { … } }")
	}
	members, repeated, over := r.doc.object(object, maxServers, nil)
	if over {
		return nil, r.lost(object.start, fmt.Sprintf("more than %d servers in one file", maxServers))
	}
	var again map[string][]repetition
	for _, twice := range repeated {
		if again == nil {
			again = map[string][]repetition{}
		}
		again[twice.name] = append(again[twice.name], twice)
	}
	r.flat = slices.ContainsFunc(members, func(m namedValue) bool {
		return ownKey(m.name) && r.doc.kind(m.value) != '{'
	})
	slices.SortFunc(members, func(a, b namedValue) int { return strings.Compare(a.name, b.name) })
	servers := make([]Server, len(members))
	var e entryReader
	for i, m := range members {
		e.reset(r, m, &servers[i])
		e.read(m, again[m.name])
	}
	if r.dropped > 0 {
		r.problems = append(r.problems, r.problem(SeverityError, object.start, "", "",
			fmt.Sprintf("%d more problems in this file are not shown", r.dropped)))
	}
	return servers, nil
}

// rootMissing says what to write instead of what was found in the place of mcpServers.
func (r *fileReader) rootMissing(top value, members []namedValue) *Problem {
	for _, m := range members {
		if rootMeant(m.name) {
			return r.lost(m.key.start, fmt.Sprintf("no %s: did you mean it by %s? keys are case-sensitive", r.root, quoted(m.name)))
		}
	}
	for _, m := range members {
		if whose, foreign := foreignRoots[m.name]; foreign && r.doc.kind(m.value) == '{' {
			return r.lost(m.key.start, fmt.Sprintf("no %s: %s is %s spelling, write %s", r.root, m.name, whose, r.root))
		}
	}
	for _, m := range members {
		if r.looksLikeServer(m) {
			return r.lost(m.key.start, fmt.Sprintf(`no %s: wrap the entries, {"%s": { … }}`, r.root, r.root))
		}
	}
	return r.lost(top.start, fmt.Sprintf(`no %s: the file configures nothing; write {"%s": {}} if that is meant`, r.root, r.root))
}

func (r *fileReader) looksLikeServer(m namedValue) bool {
	kind := r.doc.kind(m.value)
	if m.name == "command" || m.name == "url" {
		return kind == '"'
	}
	if kind != '{' {
		return false
	}
	for field := range r.doc.members(m.value) {
		if name := r.doc.text(field.key); name == "command" || name == "url" {
			return true
		}
	}
	return false
}

func (r *fileReader) problem(severity Severity, offset int, server, field, message string) Problem {
	line, column := r.doc.position(offset)
	return Problem{
		Severity: severity, Path: r.source.Path, Line: line, Column: column, Scope: r.source.Scope,
		Server: server, Field: field, Message: message,
	}
}

func (r *fileReader) lost(offset int, message string) *Problem {
	p := r.problem(SeverityError, offset, "", "", message)
	p.wholeFileLost = true
	return &p
}

// twice says that something is given twice, and where first; the problem itself stands at the second place.
func (r *fileReader) twice(what string, first value) string {
	line, column := r.doc.position(first.start)
	return fmt.Sprintf("%s twice: first at line %d, column %d", what, line, column)
}

// add takes over an entry's problems, as far as there is room.
func (r *fileReader) add(problems []Problem) {
	room := min(len(problems), maxProblems-len(r.problems))
	r.problems = append(r.problems, problems[:room]...)
	r.dropped += len(problems) - room
}
