package policy

import (
	"errors"
	"strings"

	"github.com/traposd/traposd/daemon/glob"
)

// maxPattern bounds a pattern, in bytes.
const maxPattern = 256

// deep stands for any number of names, also for none.
const deep = "**"

// pattern is for paths: names with * and ?, and ** between slashes.
type pattern []string

// parsePattern reads a pattern, which is UTF-8 as paths of calls are.
func parsePattern(text string) (pattern, error) {
	switch {
	case text == "":
		return nil, errors.New("a pattern is empty; / is the root of the disk, ** everything on it")
	case len(text) > maxPattern:
		return nil, errors.New("a pattern has at most 256 bytes")
	case len(text) > 1 && strings.HasSuffix(text, "/"):
		return nil, errors.New("a pattern ends with a slash: write FOLDER/** for a folder with everything in it")
	case strings.ContainsAny(text, `\":<>|`) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return nil, errors.New("a pattern holds a character that no path has; names are separated by /")
	}
	var p pattern
	for _, name := range strings.Split(text, "/") {
		switch {
		case name == "":
			continue
		case ambiguous(name):
			return nil, errors.New("a pattern has a name of dots alone, or one that begins or ends with a space: write the path as list-files shows it")
		case name != deep && strings.Contains(name, deep):
			return nil, errors.New("** stands for whole names: write it between slashes, or use *")
		case name == deep && len(p) > 0 && p[len(p)-1] == deep:
			continue // twice is no more than once
		}
		p = append(p, name)
	}
	return p, nil
}

// wide is the pattern as deny and ask read it: with names folded, and a second time in the encoding of names that were typed
// in the game, if it has any letters that differ there.
func (p pattern) wide() []pattern {
	folded := make(pattern, len(p))
	for i, name := range p {
		folded[i] = fold(name)
	}
	out := []pattern{folded}
	if latin, ok := latin1(strings.Join(p, "/")); ok {
		typed := pattern(strings.Split(latin, "/"))
		for i, name := range typed {
			typed[i] = fold(name)
		}
		out = append(out, typed)
	}
	return out
}

// latin1 is text in ISO 8859-1; not ok if that is the same, or cannot be.
func latin1(text string) (string, bool) {
	var out []byte
	for _, r := range text {
		if r > 0xff {
			return "", false
		}
		out = append(out, byte(r))
	}
	return string(out), string(out) != text
}

// walk follows the pattern along a path. at[i] says whether the first i parts of the pattern may stand for the whole path;
// passed, whether the whole pattern stands for the path or for a folder that it is in.
func (p pattern) walk(names []string) (at []bool, passed bool) {
	at, next := make([]bool, len(p)+1), make([]bool, len(p)+1)
	at[0] = true
	p.skip(at)
	passed = at[len(p)]
	for _, name := range names {
		clear(next)
		for i, here := range at[:len(p)] {
			switch {
			case !here:
			case p[i] == deep:
				next[i] = true
			case glob.MatchBytes(p[i], name):
				next[i+1] = true
			}
		}
		at, next = next, at
		p.skip(at)
		passed = passed || at[len(p)]
	}
	return at, passed
}

// skip goes past each ** that stands for nothing.
func (p pattern) skip(at []bool) {
	for i, part := range p {
		if at[i] && part == deep {
			at[i+1] = true
		}
	}
}

// fits is the narrow reading: the pattern stands for this very path and, if below, for everything below it as well.
func (p pattern) fits(names []string, below bool) bool {
	at, _ := p.walk(names)
	last := len(p) - 1
	return at[len(p)] && (!below || last >= 0 && p[last] == deep && at[last])
}

// touches is the wide reading: the pattern stands for the path, for a folder that it is in or, if below, for something that
// may be below it.
func (p pattern) touches(names []string, below bool) (touches, whole bool) {
	at, passed := p.walk(names)
	touches = passed
	for _, here := range at {
		touches = touches || below && here
	}
	return touches, passed
}
