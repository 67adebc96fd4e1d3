package mcp

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Catalogue is what a listener offers: the tools, prompts, resources and resource templates of its servers, under names
// that tell them apart. It is replaced as a whole; a reader always sees one complete state. All methods may be called
// concurrently.
//
// # Names
//
// Tools: `<server>__<tool>`, always matching ^[A-Za-z0-9_-]{1,64}$. One that had to be cleaned or shortened ends in `_` and
// a hash of (server, tool). A server without a name has no prefix and comes first, so nothing shadows its tools. Of
// two servers with one name, the later one's prefix gets a hash of its ID; of two tools that still end up with one name,
// the later one gets a hash of its server's ID.
//
// Prompts keep their names and resources their URIs, unless an earlier server has the same one: then the prompt is
// `<server>__<prompt>`, the resource `server:<server>/<uri>` and the template `server:<server>/<template>`.
type Catalogue struct {
	setting sync.Mutex // serialises Set
	current atomic.Pointer[snapshot]

	mu       sync.Mutex
	watchers map[chan struct{}]struct{} // guarded by mu; each has one slot
}

// NewCatalogue returns an empty catalogue.
func NewCatalogue() *Catalogue {
	c := &Catalogue{watchers: map[chan struct{}]struct{}{}}
	c.current.Store(newSnapshot(nil, nil))
	return c
}

// Set replaces all entries and reports whether any list that a client can see differs from before. Entries come
// strongest first; the order decides only who keeps a name that two want. For names that do not depend on which server is
// up first, list those that are not ready too (with a nil Server). Clients are told by the listeners that serve c, once
// things have been quiet for a few milliseconds, and only if what they see differs by then.
//
// Each client sees the catalogue through the first of the lenses that is for it, and as it is if none is. With lenses,
// before or now, changed may be true though no list differs.
func (c *Catalogue) Set(entries []Entry, lenses ...Lens) (changed bool) {
	c.setting.Lock()
	next := newSnapshot(entries, lenses)
	previous := c.current.Swap(next)
	c.setting.Unlock()

	if changed = next.sums != previous.sums || len(next.looks.lenses)+len(previous.looks.lenses) > 0; !changed {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for watcher := range c.watchers {
		select {
		case watcher <- struct{}{}:
		default: // it has not looked since the last change
		}
	}
	return true
}

// watch returns a channel that gets a value after every change, and a function that ends it.
func (c *Catalogue) watch() (changes <-chan struct{}, stop func()) {
	watcher := make(chan struct{}, 1)
	c.mu.Lock()
	c.watchers[watcher] = struct{}{}
	c.mu.Unlock()
	return watcher, func() {
		c.mu.Lock()
		delete(c.watchers, watcher)
		c.mu.Unlock()
	}
}

// Lookup tells which server's tool has that exposed name, through no lens, and what the server itself calls it.
func (c *Catalogue) Lookup(exposed string) (entry Entry, original string, ok bool) {
	target, ok := c.snapshot().tools.routes[exposed]
	if !ok {
		return Entry{}, "", false
	}
	return *target.entry, target.name, true
}

// Tools lists all tools under their exposed names, in the order in which clients see them, through no lens.
func (c *Catalogue) Tools() []Definition { return slices.Clone(c.snapshot().tools.items) }

// Prompts lists all prompts under their exposed names.
func (c *Catalogue) Prompts() []Definition { return slices.Clone(c.snapshot().prompts.items) }

// Resources lists all resources under their exposed URIs.
func (c *Catalogue) Resources() []Definition { return slices.Clone(c.snapshot().resources.items) }

// ResourceTemplates lists all resource templates under their exposed URI templates.
func (c *Catalogue) ResourceTemplates() []Definition {
	return slices.Clone(c.snapshot().templates.items)
}

// Entries lists the entries as they were set, strongest first.
func (c *Catalogue) Entries() []Entry { return slices.Clone(c.snapshot().entries) }

func (c *Catalogue) snapshot() *snapshot { return c.current.Load() }

// snapshot is one state of a catalogue. It never changes.
type snapshot struct {
	entries  []Entry
	prefixes []string // of the entries
	ids      map[string]bool

	tools, prompts, resources, templates *list

	sums sums // of the four

	canComplete, canLog, canSubscribe bool // some server can
	hasPrompts, hasResources          bool // some server declares or has them

	instructions string // of all servers, under their names

	looks   *looks            // how its clients see it
	hidden  map[string]string // what hides a tool from the client, by exposed name
	compact *compact          // what the client finds and calls tools with; nil: it has them listed
}

// sums tells apart the states of the lists by kind: tools, prompts, resources with their templates.
type sums [kinds]digest

func newSnapshot(entries []Entry, lenses []Lens) *snapshot {
	s := &snapshot{entries: slices.Clone(entries), ids: make(map[string]bool, len(entries))}
	s.prefixes = prefixesOf(s.entries)
	s.tools, s.prompts = newList("tools", "name"), newList("prompts", "name")
	s.resources, s.templates = newList("resources", "uri"), newList("resourceTemplates", "uriTemplate")
	for _, i := range listingOrder(s.entries) {
		entry, prefix := &s.entries[i], s.prefixes[i]
		s.ids[entry.ID] = true
		s.note(entry)
		if entry.Server == nil {
			continue
		}
		s.tools.add(entry, entry.Tools, func(tool string) string { return exposedName(prefix, tool) },
			func(tool string) string { return hashedName(exposedName(prefix, tool), entry.ID, tool) })
		plain := func(name string) string { return name }
		s.prompts.add(entry, entry.Prompts, plain, func(name string) string { return prefix + separator + name })
		owned := func(uri string) string { return serverURI(prefix) + uri }
		s.resources.add(entry, entry.Resources, plain, owned)
		s.templates.add(entry, entry.ResourceTemplates, plain, owned)
	}
	for _, l := range []*list{s.tools, s.prompts, s.resources, s.templates} {
		l.seal()
	}
	s.instructions = instructionsOf(s.entries, nil)
	s.sums = sums{
		kindTools:     s.tools.sum,
		kindPrompts:   s.prompts.sum,
		kindResources: digestOf(s.resources.sum[:], s.templates.sum[:]),
	}
	s.looks = newLooks(s, lenses)
	return s
}

// note takes over what an entry says about itself.
func (s *snapshot) note(entry *Entry) {
	capabilities := parseServerCapabilities(entry.Capabilities)
	s.canComplete = s.canComplete || capabilities.completions
	s.canLog = s.canLog || capabilities.logging
	s.canSubscribe = s.canSubscribe || capabilities.subscribe
	s.hasPrompts = s.hasPrompts || capabilities.prompts || len(entry.Prompts) > 0
	s.hasResources = s.hasResources || capabilities.resources || len(entry.Resources)+len(entry.ResourceTemplates) > 0
}

// instructionsOf joins the servers' instructions under their names, in the order in which clients see the servers. Those
// of the servers with these IDs are left out.
func instructionsOf(entries []Entry, without map[string]bool) string {
	var all strings.Builder
	for _, i := range listingOrder(entries) {
		entry := &entries[i]
		text := strings.TrimSpace(entry.Instructions)
		if text == "" || without[entry.ID] {
			continue
		}
		if all.Len() > 0 {
			all.WriteString("\n\n")
		}
		if entry.Name != "" {
			all.WriteString("# " + entry.Name + "\n\n")
		}
		all.WriteString(text)
	}
	return all.String()
}

// listingOrder gives the entries' indices in the order in which clients see them: those without a name first, the others
// by name. The specification wants the order to be the same every time (2026-07-28, tools, "Listing Tools"); a server's
// own order of its tools is kept.
func listingOrder(entries []Entry) []int {
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(entries[a].Name, entries[b].Name) })
	return order
}

// prefixesOf gives each entry its own prefix, the name as far as possible.
func prefixesOf(entries []Entry) []string {
	prefixes := make([]string, len(entries))
	taken := map[string]bool{}
	for i, entry := range entries {
		prefix := entry.Name
		if prefix != "" && taken[prefix] {
			prefix = hashedName(prefix, entry.ID)
		}
		taken[prefix] = true
		prefixes[i] = prefix
	}
	return prefixes
}

// serverCapabilities is what the listener needs to know of a server's capabilities object.
type serverCapabilities struct {
	prompts, resources, subscribe, completions, logging bool
}

func parseServerCapabilities(raw json.RawMessage) serverCapabilities {
	var parsed struct {
		Prompts     json.RawMessage `json:"prompts"`
		Completions json.RawMessage `json:"completions"`
		Logging     json.RawMessage `json:"logging"`
		Resources   *struct {
			Subscribe bool `json:"subscribe"`
		} `json:"resources"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &parsed) != nil {
		return serverCapabilities{}
	}
	return serverCapabilities{
		prompts:     parsed.Prompts != nil,
		resources:   parsed.Resources != nil,
		subscribe:   parsed.Resources != nil && parsed.Resources.Subscribe,
		completions: parsed.Completions != nil,
		logging:     parsed.Logging != nil,
	}
}
