package policy

import (
	"errors"
	"strings"
)

// Bounds of a path: that of libfiles on the computers, and the longest name that CC:Tweaked does not cut.
const (
	maxPath = 1024
	maxName = 255
)

// notInNames are the characters that the programs on the computers refuse in a path.
const notInNames = "\":<>?*|"

// path is where a path of a call leads: the names on the way from the root of the disk, as bytes.
type path struct {
	exact  []string // what `allow` is held against
	folded []string // what `deny` and `ask` are held against; see fold
}

// Reasons why a path cannot be judged.
var (
	errOut       = errors.New("it leads out of the disk")
	errLong      = errors.New("it, or a name in it, is too long")
	errNoName    = errors.New("it holds a character that no file name can have")
	errAmbiguous = errors.New("it begins or ends a name with a space, or has one of dots alone: not every computer takes that for the same file")
)

// parsePath understands a path as CC:Tweaked does: backslashes are slashes, empty names and "." count for nothing, ".." goes
// back. What two versions of the mod would take for different files is refused.
func parsePath(text string) (path, error) {
	if len(text) > maxPath {
		return path{}, errLong
	}
	var p path
	for _, name := range strings.Split(strings.ReplaceAll(text, `\`, "/"), "/") {
		switch {
		case name == "" || name == ".":
			continue
		case name == "..":
			if len(p.exact) == 0 {
				return path{}, errOut
			}
			p.exact, p.folded = p.exact[:len(p.exact)-1], p.folded[:len(p.folded)-1]
			continue
		case len(name) > maxName:
			return path{}, errLong
		case strings.ContainsAny(name, notInNames) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return path{}, errNoName
		case ambiguous(name):
			return path{}, errAmbiguous
		}
		p.exact, p.folded = append(p.exact, name), append(p.folded, fold(name))
	}
	return p, nil
}

// ambiguous reports whether versions of the mod take a name for different files: those from 1.102 on strip the spaces around
// it and ignore one of three dots or more, the older ones keep both.
func ambiguous(name string) bool {
	return strings.HasPrefix(name, " ") || strings.HasSuffix(name, " ") || strings.Trim(name, ". ") == ""
}

// fold is a name as a disk that ignores case (Windows, macOS) has it: small letters, as far as ISO 8859-1 goes, and no dots
// or spaces at the end, which Windows drops.
func fold(name string) string { return strings.TrimRight(lower(name), ". ") }

func lower(name string) string {
	out := []byte(name)
	for i, c := range out {
		if c >= 'A' && c <= 'Z' || c >= 0xc0 && c <= 0xde && c != 0xd7 {
			out[i] = c + 0x20
		}
	}
	return string(out)
}

// leftovers are what the programs on a computer add to a file's name while they write it. At boot they make it the file
// itself, and so what may be done to the one is what may be done to the other.
var leftovers = []string{".trapos-part", ".trapos-new", ".trapos-old"}

// target is the path that a leftover stands for, if p is one.
func (p path) target() (path, bool) {
	if len(p.exact) == 0 {
		return p, false
	}
	last := len(p.exact) - 1
	for _, suffix := range leftovers {
		if rest, found := strings.CutSuffix(p.folded[last], suffix); found && rest != "" {
			exact, whole := strings.CutSuffix(p.exact[last], suffix)
			if !whole {
				exact = rest
			}
			return path{
				exact:  append(p.exact[:last:last], exact),
				folded: append(p.folded[:last:last], fold(rest)),
			}, true
		}
	}
	return p, false
}

// hasShortName reports whether a name may be the second name that Windows gives to a file of a longer one: SECRET~1.TXT.
func (p path) hasShortName() bool {
	for _, name := range p.folded {
		base, extension, _ := strings.Cut(name, ".")
		if tilde := strings.LastIndexByte(base, '~'); len(base) <= 8 && len(extension) <= 3 && tilde > 0 &&
			tilde < len(base)-1 && strings.Trim(base[tilde+1:], "0123456789") == "" {
			return true
		}
	}
	return false
}
