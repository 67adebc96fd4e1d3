package mcp

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/traposd/traposd/mcp/wire"
)

// index finds the tools of one list by words. It never changes.
//
// # Ranking
//
// A tool's words are those of its name (each counts 4), its title (3), its server's name (2), its description and the names
// of its parameters (1); letters and digits are words, split where lower case turns to upper case, and case does not
// matter. Each word of the query is held against them: an equal one counts in full, one that begins with it or that it
// begins with (3 letters at least) half, one that contains it a quarter. The best of these, times how rare the matches are
// (the logarithm of 1 + tools by tools that match), is what the word is worth to a tool; the sum over the query's words is the
// tool's rank. A query that is a tool's very name puts it first. Equal ranks keep the order of the list.
type index struct {
	tools []*indexed
	words map[string][]posting
}

// indexed is one tool.
type indexed struct {
	place  int
	name   string // exposed
	own    string // to its server
	server string
	raw    json.RawMessage
}

// posting is a word's weight in one tool.
type posting struct {
	tool   int
	weight float64
}

// Bounds of the work on one tool, and on one query.
const (
	maxIndexedText = 4 << 10 // bytes of a description
	maxQueryWords  = 32
)

func newIndex(l *list) *index {
	x := &index{words: map[string][]posting{}}
	for i, item := range l.items {
		to := l.routes[item.Name]
		tool := &indexed{place: i, name: item.Name, own: to.name, server: to.entry.Name, raw: item.Raw}
		x.tools = append(x.tools, tool)
		weights := map[string]float64{}
		add := func(weight float64, text string) {
			for _, word := range wordsOf(text) {
				weights[word] = max(weights[word], weight)
			}
		}
		add(4, tool.own)
		add(3, tool.text("title"))
		add(2, tool.server)
		description := tool.text("description")
		add(1, description[:min(len(description), maxIndexedText)])
		schema, _ := wire.Get(item.Raw, "inputSchema")
		properties, _ := wire.Get(schema, "properties")
		for name := range wire.Members(properties) {
			add(1, name)
		}
		for word, weight := range weights {
			x.words[word] = append(x.words[word], posting{tool: i, weight: weight})
		}
	}
	return x
}

func (t *indexed) text(member string) string {
	raw, _ := wire.Get(t.raw, member)
	text, _ := wire.String(raw)
	return text
}

// shown is what a client needs to call the tool.
func (t *indexed) shown() []byte {
	object := wire.AppendString([]byte(`{"name":`), t.name)
	for _, member := range []string{"title", "description", "inputSchema"} {
		if raw, ok := wire.Get(t.raw, member); ok {
			object = append(append(object, `,"`+member+`":`...), raw...)
		}
	}
	return append(object, '}')
}

// search gives the tools that match, best first; those of one server only if it is named. A query without a word matches
// every tool.
func (x *index) search(query, server string) []*indexed {
	query = strings.TrimSpace(query)
	words := wordsOf(query)
	slices.Sort(words)
	words = slices.Compact(words)
	ranks := make([]float64, len(x.tools))
	for _, word := range words[:min(len(words), maxQueryWords)] {
		x.rank(ranks, word)
	}
	var matches []*indexed
	for i, tool := range x.tools {
		if query != "" && (tool.name == query || tool.own == query) {
			ranks[i] = math.Inf(1)
		}
		if (server == "" || tool.server == server) && (len(words) == 0 || ranks[i] > 0) {
			matches = append(matches, tool)
		}
	}
	slices.SortStableFunc(matches, func(a, b *indexed) int { return cmp.Compare(ranks[b.place], ranks[a.place]) })
	return matches
}

// rank adds what a word of a query is worth to each tool.
func (x *index) rank(ranks []float64, word string) {
	best := map[int]float64{}
	for other, postings := range x.words {
		likeness := alike(word, other)
		if likeness == 0 {
			continue
		}
		for _, p := range postings {
			best[p.tool] = max(best[p.tool], likeness*p.weight)
		}
	}
	rarity := math.Log(1 + float64(len(x.tools))/float64(max(len(best), 1)))
	for tool, worth := range best {
		ranks[tool] += worth * rarity
	}
}

// alike compares a word of a query with one of a tool.
func alike(word, other string) float64 {
	const shortest = 3 // bytes: shorter ones begin half the words there are
	switch {
	case word == other:
		return 1
	case len(word) >= shortest && strings.HasPrefix(other, word), len(other) >= shortest && strings.HasPrefix(word, other):
		return 0.5
	case len(word) >= shortest && strings.Contains(other, word):
		return 0.25
	}
	return 0
}

// wordsOf splits a text, also where a name like getUserID does, into words in lower case.
func wordsOf(text string) (words []string) {
	runes := []rune(text)
	start := -1 // of the present word; -1: between words
	end := func(i int) {
		if start >= 0 {
			words = append(words, strings.ToLower(string(runes[start:i])))
		}
		start = -1
	}
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			end(i)
			continue
		}
		if start >= 0 && unicode.IsUpper(r) {
			before := runes[i-1]
			nextIsLower := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if !unicode.IsUpper(before) || nextIsLower { // getUser, HTTPServer
				end(i)
			}
		}
		if start < 0 {
			start = i
		}
	}
	end(len(runes))
	return words
}
