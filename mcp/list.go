package mcp

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/traposd/traposd/mcp/wire"
)

// kind is one of the three lists whose changes clients are told about.
type kind int

const (
	kindTools kind = iota
	kindPrompts
	kindResources
	kinds
)

// changedMethods are the notifications by kind.
var changedMethods = [kinds]string{
	kindTools:     "notifications/tools/list_changed",
	kindPrompts:   "notifications/prompts/list_changed",
	kindResources: "notifications/resources/list_changed",
}

// digest tells lists apart: the first half of a SHA-256.
type digest [16]byte

func digestOf(parts ...[]byte) digest {
	h := sha256.New()
	for _, part := range parts {
		h.Write(part)
	}
	return digest(h.Sum(nil))
}

// target is where a name leads: a server, and what the server itself calls the thing.
type target struct {
	entry *Entry
	name  string
	raw   json.RawMessage // the definition, as listed
}

// list is one list of definitions, encoded once, with the table that routes by its names.
type list struct {
	member string // of the result object: "tools"
	key    string // of a definition that names it: "name"

	items  []Definition
	routes map[string]target
	array  json.RawMessage // all definitions, as a JSON array
	sum    digest          // of array
}

func newList(member, key string) *list {
	return &list{member: member, key: key, routes: map[string]target{}}
}

// add appends an entry's definitions. A name that is taken is replaced by the second choice; a definition whose second
// choice is taken too, or that its server lists twice, or that is no object, is left out.
func (l *list) add(entry *Entry, definitions []Definition, first, second func(string) string) {
	own := make(map[string]bool, len(definitions))
	for _, definition := range definitions {
		if own[definition.Name] || !json.Valid(definition.Raw) || wire.Kind(definition.Raw) != '{' {
			continue
		}
		own[definition.Name] = true
		exposed := first(definition.Name)
		if _, taken := l.routes[exposed]; taken {
			exposed = second(definition.Name)
		}
		if _, taken := l.routes[exposed]; taken {
			continue
		}
		raw := definition.Raw
		if exposed != definition.Name {
			raw = wire.Set(raw, l.key, wire.Quote(exposed))
		}
		l.items = append(l.items, Definition{Name: exposed, Raw: raw})
		l.routes[exposed] = target{entry: entry, name: definition.Name, raw: raw}
	}
}

func (l *list) seal() {
	size := 2
	for _, item := range l.items {
		size += len(item.Raw) + 1
	}
	array := append(make([]byte, 0, size), '[')
	for i, item := range l.items {
		if i > 0 {
			array = append(array, ',')
		}
		array = append(array, item.Raw...)
	}
	l.array = append(array, ']')
	l.sum = digestOf(l.array)
}
