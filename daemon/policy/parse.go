package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/traposd/traposd/daemon/glob"
)

// Bounds of a policy: a call is held against all of it.
const (
	maxRules    = 256
	maxPatterns = 256 // of one list
	maxGrants   = 64  // of one rule
)

// maxRunSeconds is the longest that Lua may run on a computer, whatever the policy.
const maxRunSeconds = 3600

// Problem is one error in a policy, at an offset of the file.
type Problem struct {
	Offset  int
	Field   string // "policy[0].tools.deny"
	Message string // repeats no value of the file
}

// Options are what Parse has to know.
type Options struct {
	At    func(offset int) string // how messages name a place in the file
	Tools []string                // the names of the tools; a pattern that fits none of them is an error
}

// Parse reads the value of `policy`. If there are problems, the policy is doubtful: a rule with an error denies everything on
// the computers that it may be about, and the rules before it go on deciding about theirs.
func Parse(v hujson.Value, o Options) (Policy, []Problem) {
	d := &decoder{Options: o}
	var p Policy
	list, ok := v.Value.(*hujson.Array)
	switch {
	case !ok:
		d.fail(v, "policy", "must be an array of rules")
		p.rules = []rule{{at: o.At(v.StartOffset), broken: true}}
	case len(list.Elements) > maxRules:
		d.fail(v, "policy", fmt.Sprintf("at most %d rules", maxRules))
		p.rules = []rule{{at: o.At(v.StartOffset), broken: true}}
	default:
		for i, element := range list.Elements {
			p.rules = append(p.rules, d.rule(element, fmt.Sprintf("policy[%d]", i)))
		}
	}
	p.doubtful = len(d.problems) > 0
	return p, d.problems
}

// decoder gathers the problems of one policy.
type decoder struct {
	Options
	problems []Problem
}

func (d *decoder) fail(v hujson.Value, field, message string) {
	d.problems = append(d.problems, Problem{Offset: v.StartOffset, Field: field, Message: message})
}

// members hands each member of an object to the function of its key. A key that there is not is an error: a slip of the pen
// must not take a limit away.
// It returns whether v is an object in which no key stands twice.
func (d *decoder) members(v hujson.Value, field string, keys map[string]func(v hujson.Value, field string)) (sound bool) {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		d.fail(v, field, "must be an object")
		return false
	}
	sound = true
	seen := map[string]bool{}
	for _, m := range object.Members {
		key := m.Name.Value.(hujson.Literal).String()
		read, known := keys[key]
		switch {
		case !known:
			names := make([]string, 0, len(keys))
			for name := range keys {
				names = append(names, name)
			}
			slices.Sort(names)
			d.fail(m.Name, field, "a key that is not known; there are "+strings.Join(names, ", "))
		case seen[key]:
			d.fail(m.Name, field, key+" stands there twice")
			sound = false
		default:
			read(m.Value, field+"."+key)
		}
		seen[key] = true
	}
	return sound
}

// rule reads one rule. What is wrong in it makes it broken; a selector that is wrong fits everything.
func (d *decoder) rule(v hujson.Value, field string) rule {
	before := len(d.problems)
	r := rule{at: d.At(v.StartOffset)}
	selector := func(to *globs) func(hujson.Value, string) {
		return func(v hujson.Value, field string) { *to = d.names(v, field, true) }
	}
	sound := d.members(v, field, map[string]func(hujson.Value, string){
		"network": selector(&r.network), "traposId": selector(&r.traposID), "label": selector(&r.label),
		"readOnly": func(v hujson.Value, field string) {
			l, ok := v.Value.(hujson.Literal)
			if !ok || l.Kind() != 't' && l.Kind() != 'f' {
				d.fail(v, field, "must be true or false")
				return
			}
			r.readOnly = l.Bool()
		},
		"maxRunSeconds": func(v hujson.Value, field string) { r.maxRun = d.seconds(v, field) },
		"tools":         func(v hujson.Value, field string) { r.tools = d.tools(v, field) },
		"read":          func(v hujson.Value, field string) { r.read = d.paths(v, field) },
		"write":         func(v hujson.Value, field string) { r.write = d.paths(v, field) },
		"relay":         func(v hujson.Value, field string) { r.relay = d.grants(v, field) },
	})
	if !sound { // nobody knows which computers it is about
		r.network, r.traposID, r.label = nil, nil, nil
	}
	r.broken = len(d.problems) > before
	return r
}

// names reads patterns for names: an array, or a single one where alone says so. It is nil if there is an error.
func (d *decoder) names(v hujson.Value, field string, alone bool) globs {
	texts, ok := d.texts(v, field, alone)
	if !ok {
		return nil
	}
	if alone && len(texts) == 0 {
		d.fail(v, field, "is empty; leave it out for all")
		return nil
	}
	out := globs{}
	for _, t := range texts {
		if t.text == "" || len(t.text) > maxPattern {
			d.fail(t.value, field, fmt.Sprintf("a pattern has 1 to %d bytes", maxPattern))
			return nil
		}
		out = append(out, t.text)
	}
	return out
}

type textAt struct {
	value hujson.Value
	text  string
}

func (d *decoder) texts(v hujson.Value, field string, alone bool) ([]textAt, bool) {
	if l, ok := v.Value.(hujson.Literal); ok && alone && l.Kind() == '"' {
		return []textAt{{v, l.String()}}, true
	}
	list, ok := v.Value.(*hujson.Array)
	if !ok {
		d.fail(v, field, "must be an array of strings")
		return nil, false
	}
	if len(list.Elements) > maxPatterns {
		d.fail(v, field, fmt.Sprintf("more than %d patterns", maxPatterns))
		return nil, false
	}
	var out []textAt
	for _, e := range list.Elements {
		l, ok := e.Value.(hujson.Literal)
		if !ok || l.Kind() != '"' {
			d.fail(e, field, "must be an array of strings")
			return nil, false
		}
		out = append(out, textAt{e, l.String()})
	}
	return out, true
}

func (d *decoder) tools(v hujson.Value, field string) toolLists {
	var l toolLists
	into := func(to *globs) func(hujson.Value, string) {
		return func(v hujson.Value, field string) {
			*to = d.names(v, field, false)
			for i, name := range *to {
				if !slices.ContainsFunc(d.Tools, func(tool string) bool { return glob.MatchBytes(name, tool) }) {
					d.fail(v.Value.(*hujson.Array).Elements[i], field, "no tool is called that; there are "+strings.Join(d.Tools, ", "))
				}
			}
		}
	}
	d.members(v, field, map[string]func(hujson.Value, string){
		"allow": func(v hujson.Value, field string) {
			l.limited = true
			into(&l.allow)(v, field)
		},
		"ask": into(&l.ask), "deny": into(&l.deny),
	})
	return l
}

func (d *decoder) paths(v hujson.Value, field string) pathLists {
	var l pathLists
	wide := func(to *[]pattern) func(hujson.Value, string) {
		return func(v hujson.Value, field string) {
			for _, p := range d.patterns(v, field) {
				*to = append(*to, p.wide()...)
			}
		}
	}
	d.members(v, field, map[string]func(hujson.Value, string){
		"allow": func(v hujson.Value, field string) { l.allow, l.limited = d.patterns(v, field), true },
		"ask":   wide(&l.ask), "deny": wide(&l.deny),
	})
	return l
}

func (d *decoder) patterns(v hujson.Value, field string) (out []pattern) {
	texts, _ := d.texts(v, field, false)
	for _, t := range texts {
		p, err := parsePattern(t.text)
		if err != nil {
			d.fail(t.value, field, err.Error())
		}
		out = append(out, p)
	}
	return out
}

func (d *decoder) seconds(v hujson.Value, field string) time.Duration {
	l, ok := v.Value.(hujson.Literal)
	if seconds := l.Float(); ok && l.Kind() == '0' && seconds >= 0.001 && seconds <= maxRunSeconds {
		return time.Duration(seconds * float64(time.Second)).Truncate(time.Millisecond)
	}
	d.fail(v, field, fmt.Sprintf("must be a number from 0.001 to %d", maxRunSeconds))
	return 0
}

func (d *decoder) grants(v hujson.Value, field string) (out []grant) {
	list, ok := v.Value.(*hujson.Array)
	if !ok || len(list.Elements) > maxGrants {
		d.fail(v, field, fmt.Sprintf("must be an array of at most %d objects with from and types", maxGrants))
		return nil
	}
	for i, element := range list.Elements {
		var g grant
		at := fmt.Sprintf("%s[%d]", field, i)
		d.members(element, at, map[string]func(hujson.Value, string){
			"from":  func(v hujson.Value, field string) { g.from = d.names(v, field, true) },
			"types": func(v hujson.Value, field string) { g.types = d.names(v, field, true) },
		})
		if g.from == nil {
			if _, ok := element.Value.(*hujson.Object); ok {
				d.fail(element, at, "needs from: which computers may send requests, by traposId or label")
			}
			continue
		}
		out = append(out, g)
	}
	return out
}
