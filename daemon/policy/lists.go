package policy

import "slices"

// Outcome is what is decided about a call.
type Outcome int

// The outcomes, mildest first.
const (
	Allow Outcome = iota
	Ask           // somebody has to agree first
	Deny
)

// String returns "allow", "ask" or "deny".
func (o Outcome) String() string { return [...]string{"allow", "ask", "deny"}[o] }

// toolLists say which tools may be used. deny is stronger than ask, and ask than allow; without an allow, what is in no list
// is allowed.
type toolLists struct {
	allow, ask, deny globs
	limited          bool // there is an allow, be it empty
}

// decide gives the outcome and the list that it comes from.
func (l *toolLists) decide(tool string) (Outcome, string) {
	switch {
	case l.deny.fit(tool):
		return Deny, "deny"
	case l.ask.fit(tool):
		return Ask, "ask"
	case l.limited && !l.allow.fit(tool):
		return Deny, "allow"
	}
	return Allow, ""
}

// names reports whether a tool stands in allow or ask by its own name.
func (l *toolLists) names(tool string) bool {
	return slices.Contains(l.allow, tool) || slices.Contains(l.ask, tool)
}

// pathLists are the same for paths.
type pathLists struct {
	allow     []pattern
	ask, deny []pattern // as wide makes them
	limited   bool      // there is an allow, be it empty
}

// any reports whether the lists forbid or ask for anything.
func (l *pathLists) any() bool { return l.limited || len(l.ask)+len(l.deny) > 0 }

// decide judges a path, and the file that it stands for if it is a leftover.
func (l *pathLists) decide(p path, below bool) (Outcome, string) {
	outcome, list := l.one(p, below)
	for {
		target, found := p.target()
		if !found {
			return outcome, list
		}
		p = target
		if o, by := l.one(p, below); o > outcome {
			outcome, list = o, by
		}
	}
}

func (l *pathLists) one(p path, below bool) (Outcome, string) {
	for _, pattern := range l.deny {
		if touches, _ := pattern.touches(p.folded, below); touches {
			return Deny, "deny"
		}
	}
	if len(l.deny) > 0 && p.hasShortName() {
		return Deny, "deny"
	}
	asks, all := len(l.ask) > 0 && p.hasShortName(), false
	for _, pattern := range l.ask {
		touches, whole := pattern.touches(p.folded, below)
		asks, all = asks || touches, all || whole
	}
	allowed := !l.limited || slices.ContainsFunc(l.allow, func(a pattern) bool { return a.fits(p.exact, below) })
	switch {
	case !allowed && !all:
		return Deny, "allow"
	case asks:
		return Ask, "ask"
	}
	return Allow, ""
}
