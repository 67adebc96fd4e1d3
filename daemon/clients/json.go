package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// defaultIndent is that of a file that we make.
const defaultIndent = "  "

// mergeJSON sets the entry of our name below root in a file with comments and trailing commas (JWCC).
func mergeJSON(before []byte, root []string, entry any) ([]byte, Outcome, error) {
	text := before
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	mark := []byte("\ufeff")
	body, marked := bytes.CutPrefix(text, mark)
	file, err := hujson.Parse(body)
	if err != nil {
		return nil, Already, fmt.Errorf("it is not JSON: %w", reason(err))
	}
	top, ok := file.Value.(*hujson.Object)
	if !ok {
		return nil, Already, errors.New("it holds no JSON object")
	}
	look := layoutOf(top, body)
	list, err := descend(top, root, look)
	if err != nil {
		return nil, Already, err
	}
	depth := len(root)
	// opencode's second version keeps its servers one level deeper; a file that has that level is one of it.
	if inner := member(list, "servers"); root[0] == "mcp" && inner != nil {
		if deeper, ok := inner.Value.Value.(*hujson.Object); ok && member(deeper, "type") == nil {
			list, depth = deeper, depth+1
		}
	}
	if twice(list, entryName) {
		return nil, Already, fmt.Errorf("it has %q twice: remove one", entryName)
	}
	outcome := set(list, entry, depth, look)
	if outcome == Already {
		return before, Already, nil
	}
	after := file.Pack()
	if _, err := hujson.Parse(after); err != nil {
		return nil, Already, errors.New("its form is one that cannot be added to; use --print and add it by hand")
	}
	if marked {
		after = slices.Concat(mark, after)
	}
	return after, outcome, nil
}

// reason keeps the place of a parse error, and no text of the file.
func reason(err error) error {
	place, _, found := strings.Cut(strings.TrimPrefix(err.Error(), "hujson: "), ": ")
	if !found || !strings.HasPrefix(place, "line ") {
		return errors.New("it does not follow the syntax")
	}
	return errors.New("the syntax is wrong at " + place)
}

func member(o *hujson.Object, name string) *hujson.ObjectMember {
	for i := range o.Members {
		if literal, ok := o.Members[i].Name.Value.(hujson.Literal); ok && literal.String() == name {
			return &o.Members[i]
		}
	}
	return nil
}

// twice reports whether a name is given more than once. Readers of JSON differ in which one they take, and most take the last.
func twice(o *hujson.Object, name string) bool {
	n := 0
	for _, m := range o.Members {
		if literal, ok := m.Name.Value.(hujson.Literal); ok && literal.String() == name {
			n++
		}
	}
	return n > 1
}

// descend returns the object that the keys lead to, and makes what is not there.
func descend(o *hujson.Object, keys []string, look layout) (*hujson.Object, error) {
	for depth, key := range keys {
		if twice(o, key) {
			return nil, fmt.Errorf("it has %q twice: remove one", key)
		}
		m := member(o, key)
		if m == nil {
			m = add(o, key, hujson.Value{Value: &hujson.Object{}}, depth, look)
		}
		inner, ok := m.Value.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("its %q is not an object", key)
		}
		o = inner
	}
	return o, nil
}

// set gives the object the entry of our name.
func set(list *hujson.Object, entry any, depth int, look layout) Outcome {
	value := look.entry(entry, depth+1)
	m := member(list, entryName)
	if m == nil {
		add(list, entryName, value, depth, look)
		return Added
	}
	if sameJSON(m.Value, value) {
		return Already
	}
	m.Value.Value = value.Value
	return Replaced
}

func sameJSON(a, b hujson.Value) bool {
	decode := func(v hujson.Value) (any, error) {
		v = v.Clone()
		v.Standardize()
		var decoded any
		err := json.Unmarshal(v.Pack(), &decoded)
		return decoded, err
	}
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// add appends a member on a line of its own, with a comma behind it if the last one had one.
func add(o *hujson.Object, name string, value hujson.Value, depth int, look layout) *hujson.ObjectMember {
	value.BeforeExtra, value.AfterExtra = hujson.Extra(" "), nil
	if n := len(o.Members); n > 0 && o.Members[n-1].Value.AfterExtra != nil { // hujson's mark of a trailing comma
		value.AfterExtra = hujson.Extra{}
	}
	// What stands before the closing brace may be comments on what is above.
	above := bytes.TrimRight(o.AfterExtra, " \t\r\n")
	key := hujson.Value{BeforeExtra: append(slices.Clone(above), look.line(depth+1)...), Value: hujson.String(name)}
	o.Members = append(o.Members, hujson.ObjectMember{Name: key, Value: value})
	o.AfterExtra = hujson.Extra(look.line(depth))
	return &o.Members[len(o.Members)-1]
}

// layout is how a file is laid out.
type layout struct{ indent, newline string }

// line begins a line at that depth.
func (l layout) line(depth int) string { return l.newline + strings.Repeat(l.indent, depth) }

// entry is an entry as it stands at that depth.
func (l layout) entry(v any, depth int) hujson.Value {
	text, _ := json.MarshalIndent(v, strings.Repeat(l.indent, depth), l.indent)
	value, _ := hujson.Parse(bytes.ReplaceAll(text, []byte("\n"), []byte(l.newline))) // what json wrote can be read
	return value
}

// layoutOf tells a file's layout by what stands before its first member.
func layoutOf(top *hujson.Object, text []byte) layout {
	look := layout{indent: defaultIndent, newline: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		look.newline = "\r\n"
	}
	if len(top.Members) > 0 {
		extra := string(top.Members[0].Name.BeforeExtra)
		indent := extra[strings.LastIndexByte(extra, '\n')+1:]
		if indent != "" && strings.Trim(indent, " \t") == "" {
			look.indent = indent
		}
	}
	return look
}
