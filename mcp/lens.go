package mcp

import "sync"

// Lens is how some clients see a catalogue: without the tools that are hidden from them, and with the others listed or
// behind `find-tools` and `call-tool`. A hidden tool keeps its name to itself: which names the others have does not depend
// on what is hidden. Prompts, resources and what servers log are the same through every lens.
type Lens struct {
	// Client reports whether the lens is for a client that calls itself so (`clientInfo.name`, empty if it does not say). It
	// must give the same answer every time. nil: it is for every client.
	Client func(name string) bool

	// Hidden says what hides a tool, given by its server's ID and the name that the server has for it, as people are told it;
	// empty: nothing does. nil: no tool is hidden.
	Hidden func(serverID, tool string) string

	// Compact is the mode of clients that do not choose one themselves.
	Compact bool
}

// mode is how a client wants the tools: the `compact` of the URL that it uses.
type mode int8

const (
	modeUnsaid mode = iota
	modeListed
	modeCompact
)

// looks are all the ways in which clients see one state of a catalogue. Each is made when it is asked for first.
type looks struct {
	lenses  []Lens
	listed  []func() *snapshot // by lens; the last: through none
	compact []func() *snapshot
}

func newLooks(base *snapshot, lenses []Lens) *looks {
	l := &looks{lenses: lenses}
	for _, lens := range lenses {
		l.listed = append(l.listed, sync.OnceValue(func() *snapshot { return base.through(lens) }))
	}
	l.listed = append(l.listed, func() *snapshot { return base })
	for _, listed := range l.listed {
		l.compact = append(l.compact, sync.OnceValue(func() *snapshot { return listed().compacted() }))
	}
	return l
}

// seenBy is the state as a client of that name sees it.
func (s *snapshot) seenBy(client string, wants mode) *snapshot {
	if len(s.looks.lenses) == 0 && wants != modeCompact {
		return s
	}
	chosen := len(s.looks.lenses)
	for i, lens := range s.looks.lenses {
		if lens.Client == nil || lens.Client(client) {
			chosen = i
			break
		}
	}
	if wants == modeCompact || wants == modeUnsaid && chosen < len(s.looks.lenses) && s.looks.lenses[chosen].Compact {
		return s.looks.compact[chosen]()
	}
	return s.looks.listed[chosen]()
}

// through is the state without the tools that the lens hides, and without the instructions of servers that have nothing
// else: they would tell of what is not there.
func (s *snapshot) through(lens Lens) *snapshot {
	if lens.Hidden == nil {
		return s
	}
	tools, hidden, left := newList(s.tools.member, s.tools.key), map[string]string{}, map[string]bool{}
	for _, item := range s.tools.items {
		found := s.tools.routes[item.Name]
		if by := lens.Hidden(found.entry.ID, found.name); by != "" {
			hidden[item.Name] = by
			continue
		}
		tools.items = append(tools.items, item)
		tools.routes[item.Name] = found
		left[found.entry.ID] = true
	}
	if len(hidden) == 0 {
		return s
	}
	tools.seal()
	emptied := map[string]bool{}
	for i := range s.entries {
		e := &s.entries[i]
		if len(e.Tools) > 0 && !left[e.ID] && len(e.Prompts)+len(e.Resources)+len(e.ResourceTemplates) == 0 {
			emptied[e.ID] = true
		}
	}
	seen := *s
	seen.tools, seen.hidden = tools, hidden
	seen.sums[kindTools] = tools.sum
	seen.instructions = instructionsOf(s.entries, emptied)
	return &seen
}
