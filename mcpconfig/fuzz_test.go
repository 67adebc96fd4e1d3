package mcpconfig

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
)

// FuzzLoad reads arbitrary files. Nothing may panic; what the reader takes for well formed must be so to an independent
// parser of JSON with comments, and the other way round; positions lie within the file; loading again gives the same; and a
// broken version never loses a server that was good.
func FuzzLoad(f *testing.F) {
	seeds, err := filepath.Glob(filepath.Join("testdata", "seeds", "*.json"))
	if err != nil || len(seeds) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, seed := range seeds {
		text, err := os.ReadFile(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, text := range []string{"", "{", "null", "{\"mcpServers\":{}}//", "\xff\xfe{\x00", "{\"a\":\"\\ud800\"}", "[[[[", "/*", "{}\n<<<<<<< HEAD"} {
		f.Add(text)
	}
	good, problems := loadText(`{"mcpServers":{"a":{"command":"x"},"b":{"url":"https://h/mcp"}}}`, nil)
	if len(problems) != 0 {
		f.Fatal(problems)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set, problems := loadText(text, nil)
		agrees(t, text)
		lines := strings.Count(text, "\n") + 1
		for _, p := range problems {
			if p.Line < 1 || p.Line > lines || p.Column < 1 || p.Column > len(text)+1 || p.Message == "" {
				t.Errorf("no proper position or message: %+v", p)
			}
		}
		for _, s := range set.All() {
			if s.Source.Line < 1 || s.Source.Line > lines {
				t.Errorf("no proper position: %v", s)
			}
			if s.Runnable() && s.Command.IsZero() == s.URL.IsZero() {
				t.Errorf("runs, with neither a command nor a url, or both: %v", s)
			}
		}
		again, more := loadText(text, nil)
		if !again.Equal(set) || !slices.Equal(problems, more) || !again.Diff(set).Empty() {
			t.Error("a second reading differs")
		}
		kept, _ := loadText(text, &good)
		for _, name := range []string{"a", "b"} {
			written, found := set.Lookup(name)
			lost := len(problems) > 0 && problems[0].WholeFile()
			if s, ok := kept.Lookup(name); (lost || found && written.Invalid) && (!ok || s.Invalid || !s.LastGood) {
				t.Errorf("the last good version of %s is lost", name)
			}
		}
	})
}

// agrees compares the reader's judgement of the syntax with that of two other parsers.
func agrees(t *testing.T, text string) {
	doc, top, syntax := parse([]byte(text))
	if syntax != nil {
		if offset := syntax.offset; offset < 0 || offset > len(doc.data) {
			t.Fatalf("an error at byte %d of %d", offset, len(doc.data))
		}
		if strings.Contains(syntax.message, "nested too deep") || strings.Contains(syntax.message, "NUL") || strings.Contains(syntax.message, "UTF") {
			return
		}
	}
	// It wants a line's end after a comment.
	standard, err := hujson.Standardize(append(bytes.Clone(doc.data), '\n'))
	if (err == nil) != (syntax == nil) {
		t.Fatalf("hujson says %v, we say %v", err, syntax)
	}
	if syntax != nil {
		return
	}
	var want, got any
	decoder := json.NewDecoder(bytes.NewReader(standard))
	decoder.UseNumber()
	if err := decoder.Decode(&want); err != nil {
		t.Fatalf("encoding/json says %v", err)
	}
	compacted := doc.compact(nil, top)
	decoder = json.NewDecoder(bytes.NewReader(compacted))
	decoder.UseNumber()
	if err := decoder.Decode(&got); err != nil {
		t.Fatalf("compacted to something else: %v", err)
	}
	a, _ := json.Marshal(want)
	b, _ := json.Marshal(got)
	c, _ := json.Marshal(tree(doc, top))
	if !bytes.Equal(a, b) || !bytes.Equal(a, c) {
		t.Fatalf("read as something else:\n%s\n%s\n%s", a, b, c)
	}
}

// tree reads a value with the document's own walkers, as encoding/json would.
func tree(doc *document, v value) any {
	switch doc.kind(v) {
	case '{':
		members := map[string]any{}
		for m := range doc.members(v) {
			members[doc.text(m.key)] = tree(doc, m.value)
		}
		return members
	case '[':
		elements := []any{}
		for element := range doc.elements(v) {
			elements = append(elements, tree(doc, element))
		}
		return elements
	case '"':
		return doc.text(v)
	case 0:
		return json.Number(doc.raw(v))
	case 'n':
		return nil
	}
	return doc.kind(v) == 't'
}
