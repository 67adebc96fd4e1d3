package policy

import (
	"fmt"
	"time"
)

// Policy is a list of rules. The zero value has none, and allows everything.
type Policy struct {
	rules    []rule
	unread   string // the file that could not be read: nothing is known, and nothing allowed
	doubtful bool
}

// Unread is the policy of a file that cannot be read and never could be: it denies everything. name is the file's, for
// messages.
func Unread(name string) Policy { return Policy{unread: name, doubtful: true} }

// Doubtful reports whether the policy was made of what is broken, and so denies what it does not understand. Such a one is no
// last good version to keep.
func (p *Policy) Doubtful() bool { return p.doubtful }

// Rules is how many rules there are.
func (p *Policy) Rules() int { return len(p.rules) }

// rule is about the computers that fit all of its selectors.
type rule struct {
	at          string // where it stands: "traposd.json:3:5"
	broken      bool   // nothing is allowed
	network     globs  // nil: every one
	traposID    globs
	label       globs
	readOnly    bool
	tools       toolLists
	read, write pathLists
	maxRun      time.Duration // 0: no limit
	relay       []grant
}

// grant lets some computers send requests to those of the rule.
type grant struct {
	from  globs // by traposId or label
	types globs // nil: all
}

// Computer is what a rule is held against. All of it is what the computer says of itself.
type Computer struct{ Network, TraposID, Label string }

func (r *rule) fits(c Computer) bool {
	return (r.network == nil || r.network.fit(c.Network)) &&
		(r.traposID == nil || r.traposID.fit(c.TraposID)) && (r.label == nil || r.label.fit(c.Label))
}

func (p *Policy) ruleFor(c Computer) *rule {
	for i := range p.rules {
		if p.rules[i].fits(c) {
			return &p.rules[i]
		}
	}
	return nil
}

// Path is a path that a call uses, in whatever form it came.
type Path struct {
	Name  string
	Below bool // everything below it, if it is a folder, as well
}

// Request is what somebody wants of one computer.
type Request struct {
	Computer Computer
	Tool     string
	Changes  bool // it may change something on the computer
	Open     bool // it can do whatever the computer can, so that no rule about paths holds it
	Read     []Path
	Write    []Path
}

// Verdict is what the policy says to a request.
type Verdict struct {
	Outcome Outcome
	Rule    string        // where the rule stands, "traposd.json:3:5"; empty if none fits
	Clause  string        // the part of it that says so: "tools.deny", "write.allow", "readOnly"; empty for Allow
	Detail  string        // what more there is to say, as a part of a sentence; may be empty
	MaxRun  time.Duration // how long Lua may run; 0: the policy has no limit
}

// Decide says whether the request may be carried out.
func (p *Policy) Decide(r Request) Verdict {
	if p.unread != "" {
		return Verdict{Outcome: Deny, Rule: p.unread, Clause: "unread", Detail: p.unread + " could not be read when the service started"}
	}
	rule := p.ruleFor(r.Computer)
	if rule == nil {
		return Verdict{}
	}
	v := rule.decide(r)
	v.Rule, v.MaxRun = rule.at, rule.maxRun
	return v
}

// decide takes the strictest of what the parts of the rule say; the first of them, if they are equal.
func (r *rule) decide(q Request) Verdict {
	switch {
	case r.broken:
		return Verdict{Outcome: Deny, Clause: "broken", Detail: "the rule has an error"}
	case r.readOnly && q.Changes:
		return Verdict{Outcome: Deny, Clause: "readOnly"}
	}
	var v Verdict
	if outcome, list := r.tools.decide(q.Tool); outcome > Allow {
		v = Verdict{Outcome: outcome, Clause: "tools." + list}
	}
	if v.Outcome != Deny && q.Open && (r.read.any() || r.write.any()) && !r.tools.names(q.Tool) {
		return Verdict{
			Outcome: Deny, Clause: "tools.allow",
			Detail: "it can go around the rule's paths, so tools.allow has to name it, without a *",
		}
	}
	for _, part := range []struct {
		name  string
		lists *pathLists
		paths []Path
	}{{"read", &r.read, q.Read}, {"write", &r.write, q.Write}} {
		if !part.lists.any() {
			continue
		}
		for _, used := range part.paths {
			if found := part.lists.verdict(used, part.name); found.Outcome > v.Outcome {
				v = found
			}
		}
	}
	return v
}

func (l *pathLists) verdict(used Path, name string) Verdict {
	p, err := parsePath(used.Name)
	if err != nil {
		return Verdict{Outcome: Deny, Clause: name, Detail: "the path cannot be judged: " + err.Error()}
	}
	outcome, list := l.decide(p, used.Below)
	if outcome == Allow {
		return Verdict{}
	}
	v := Verdict{Outcome: outcome, Clause: name + "." + list}
	if outcome == Deny && used.Below {
		if point, _ := l.decide(p, false); point < Deny {
			v.Detail = "not everything in that folder is allowed"
		}
	}
	return v
}

// Shows reports whether a listing of files may name a path. What may be read after a question is shown.
func (p *Policy) Shows(c Computer, name string) bool {
	if p.unread != "" {
		return false
	}
	rule := p.ruleFor(c)
	if rule == nil {
		return true
	}
	return !rule.broken && (!rule.read.any() || rule.read.verdict(Path{Name: name}, "read").Outcome < Deny)
}

// Relay says whether one computer may send a request to another of its network: r is about that other one. isTool says that
// the request is one of the tools, so that all the rule says about tools and paths holds for it too. Nobody can be asked
// there: what would be asked is denied.
func (p *Policy) Relay(from Computer, r Request, isTool bool) Verdict {
	v := Verdict{Outcome: Deny, Clause: "relay", Detail: "no rule lets computers send requests to it"}
	if p.unread != "" {
		return p.Decide(r)
	}
	rule := p.ruleFor(r.Computer)
	if rule == nil {
		return v
	}
	switch {
	case rule.broken:
		return p.Decide(r)
	case !rule.grants(from, r.Tool):
		v.Rule, v.Detail = rule.at, "the rule does not let "+from.TraposID+" send it that"
		return v
	case !isTool:
		return Verdict{Rule: rule.at}
	}
	v = p.Decide(r)
	if v.Outcome == Ask {
		v.Outcome, v.Detail = Deny, "nobody can be asked when a computer asks"
	}
	return v
}

func (r *rule) grants(from Computer, kind string) bool {
	for _, g := range r.relay {
		if g.from.fit(from.TraposID, from.Label) && (g.types == nil || g.types.fit(kind)) {
			return true
		}
	}
	return false
}

// Message says in a line what the verdict is and what to do about it. It is for verdicts that are not Allow.
func (v Verdict) Message(tool, computer string) string {
	detail := ""
	if v.Detail != "" {
		detail = ": " + v.Detail
	}
	what := fmt.Sprintf("the policy at %s denies %s on %s (%s)%s", v.Rule, tool, computer, v.Clause, detail)
	switch {
	case v.Clause == "unread" || v.Clause == "broken":
		return what + "; mend the file (traposd check shows what is wrong with it)"
	case v.Rule == "":
		return fmt.Sprintf("the policy denies %s on %s (%s)%s; a rule with %s in traposd.json can allow it", tool, computer, v.Clause, detail, v.Clause)
	}
	return what + "; to allow it, change that rule"
}
