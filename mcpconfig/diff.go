package mcpconfig

import (
	"cmp"
	"fmt"
	"slices"
)

// Diff says how the servers to run of one Set differ from those of another, each list sorted by ID. Changed holds the new
// versions.
type Diff struct {
	Added, Removed, Changed, Unchanged []Server
}

// Empty tells whether nothing is to be started, stopped or replaced.
func (d Diff) Empty() bool { return len(d.Added)+len(d.Removed)+len(d.Changed) == 0 }

// String counts.
func (d Diff) String() string {
	return fmt.Sprintf("%d added, %d removed, %d changed, %d unchanged", len(d.Added), len(d.Removed), len(d.Changed), len(d.Unchanged))
}

// Diff compares the servers to run of s, the new Set, with those of old, by ID.
func (s Set) Diff(old Set) Diff {
	var d Diff
	before, after := old.byID(), s.byID()
	for len(before) > 0 || len(after) > 0 {
		var order int
		switch {
		case len(before) == 0:
			order = 1
		case len(after) == 0:
			order = -1
		default:
			order = cmp.Compare(before[0].id, after[0].id)
		}
		switch {
		case order < 0:
			d.Removed = append(d.Removed, *before[0].server)
		case order > 0:
			d.Added = append(d.Added, *after[0].server)
		case before[0].server.Equal(*after[0].server):
			d.Unchanged = append(d.Unchanged, *after[0].server)
		default:
			d.Changed = append(d.Changed, *after[0].server)
		}
		if order <= 0 {
			before = before[1:]
		}
		if order >= 0 {
			after = after[1:]
		}
	}
	return d
}

type identified struct {
	id     string
	server *Server
}

// byID returns the servers to run, sorted by ID.
func (s Set) byID() []identified {
	var list []identified
	for server := range s.each() {
		if server.Runnable() {
			list = append(list, identified{server.ID(), server})
		}
	}
	slices.SortFunc(list, func(a, b identified) int { return cmp.Compare(a.id, b.id) })
	return list
}
