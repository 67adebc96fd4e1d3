package mcp_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
)

var legalName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func exposed(c *mcp.Catalogue) string {
	var names []string
	for _, definition := range c.Tools() {
		names = append(names, definition.Name)
	}
	return strings.Join(names, " ")
}

func TestNames(t *testing.T) {
	long := strings.Repeat("l", 80)
	for _, test := range []struct {
		name    string
		entries []mcp.Entry
		want    string
	}{
		{"simple", []mcp.Entry{{ID: "1", Name: "db", Tools: tools("query", "a__b")}}, "db__query db__a__b"},
		{
			"without a prefix first",
			[]mcp.Entry{{ID: "1", Name: "a", Tools: tools("x")}, {ID: "2", Tools: tools("exec-lua", "a__x")}},
			"exec-lua a__x a__x_e37c5eab",
		},
		{"servers by name, tools in their own order", []mcp.Entry{{ID: "1", Name: "z", Tools: tools("b", "a")}, {ID: "2", Name: "a", Tools: tools("t")}}, "a__t z__b z__a"},
		{
			"cleaned and told apart",
			[]mcp.Entry{{ID: "1", Name: "my db", Tools: tools("list.tables", "list:tables", "é")}},
			"my_db__list_tables_5c4fcf22 my_db__list_tables_e2f39c8a my_db____ce9fd054",
		},
		{
			"shortened",
			[]mcp.Entry{{ID: "1", Name: "db", Tools: tools(long, long+"x")}},
			"db__" + long[:51] + "_fecabd6f db__" + long[:51] + "_9c91459b",
		},
		{
			"two servers of one name",
			[]mcp.Entry{{ID: "1", Name: "db", Tools: tools("a")}, {ID: "2", Name: "db", Tools: tools("a", "b")}},
			"db__a db_d4735e3a__a db_d4735e3a__b",
		},
		{
			"names that meet",
			[]mcp.Entry{{ID: "1", Name: "a_", Tools: tools("_b")}, {ID: "2", Name: "a", Tools: tools("__b")}},
			"a____b a____b_cec856f8",
		},
		{"listed twice", []mcp.Entry{{ID: "1", Name: "a", Tools: tools("b", "b")}}, "a__b"},
		{"empty", []mcp.Entry{{ID: "1", Name: "a", Tools: tools("")}, {ID: "2", Tools: tools("")}}, "_6e340b9c a__"},
	} {
		for i := range test.entries {
			test.entries[i].Server = echo
		}
		c := mcp.NewCatalogue()
		c.Set(test.entries)
		equal(t, test.name, exposed(c), test.want)
	}
}

// TestNamesAreStable: every name is legal and routes back, and none depends on the order or on which servers are up, as
// long as no two want the same.
func TestNamesAreStable(t *testing.T) {
	part := rapid.StringOfN(rapid.RuneFrom([]rune("ab_-.é ")), 1, 40, -1)
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) string {
			return strings.ReplaceAll(part.Draw(t, "part"), "__", "x")
		}), 1, 6, rapid.ID).Draw(t, "servers")
		var entries []mcp.Entry
		for i, name := range names {
			entries = append(entries, mcp.Entry{
				ID: fmt.Sprint(i), Name: name, Server: echo,
				Tools: tools(rapid.SliceOfNDistinct(part, 0, 6, rapid.ID).Draw(t, "tools")...),
			})
		}
		c := mcp.NewCatalogue()
		c.Set(entries)
		whole := routes(t, c)
		shuffled := rapid.Permutation(entries).Draw(t, "order")
		c.Set(shuffled[:rapid.IntRange(0, len(shuffled)).Draw(t, "up")])
		for key, name := range routes(t, c) {
			if whole[key] != name && !contested(whole, name) {
				t.Errorf("%v is %s among all, %s among some", key, whole[key], name)
			}
		}
	})
}

func routes(t *rapid.T, c *mcp.Catalogue) map[[2]string]string {
	table := map[[2]string]string{}
	for _, definition := range c.Tools() {
		if !legalName.MatchString(definition.Name) {
			t.Errorf("%q is not legal", definition.Name)
		}
		raw, _ := wire.Get(definition.Raw, "name")
		if name, _ := wire.String(raw); name != definition.Name {
			t.Errorf("%s is listed as %s", definition.Name, raw)
		}
		entry, original, ok := c.Lookup(definition.Name)
		if !ok {
			t.Errorf("%s leads nowhere", definition.Name)
		}
		key := [2]string{entry.Name, original}
		if table[key] != "" {
			t.Errorf("%v is listed twice", key)
		}
		table[key] = definition.Name
	}
	return table
}

// contested reports whether somebody else has that name in the table.
func contested(table map[[2]string]string, name string) bool {
	for _, other := range table {
		if other == name {
			return true
		}
	}
	return false
}

func TestSetTellsVisibleChanges(t *testing.T) {
	c := mcp.NewCatalogue()
	base := func() []mcp.Entry {
		return []mcp.Entry{{
			ID: "1", Name: "a", Server: echo, Tools: tools("t"),
			Prompts:           []mcp.Definition{{Name: "p", Raw: json.RawMessage(`{"name":"p"}`)}},
			Resources:         []mcp.Definition{{Name: "r:1", Raw: json.RawMessage(`{"uri":"r:1"}`)}},
			ResourceTemplates: []mcp.Definition{{Name: "r:{x}", Raw: json.RawMessage(`{"uriTemplate":"r:{x}"}`)}},
		}}
	}
	if !c.Set(base()) {
		t.Error("the first is no change")
	}
	if c.Set(base()) {
		t.Error("the same again is a change")
	}
	for name, edit := range map[string]func(*mcp.Entry){
		"a tool's text":       func(e *mcp.Entry) { e.Tools[0].Raw = json.RawMessage(`{"name":"t","description":"x"}`) },
		"a prompt gone":       func(e *mcp.Entry) { e.Prompts = nil },
		"a resource's text":   func(e *mcp.Entry) { e.Resources[0].Raw = json.RawMessage(`{"uri":"r:1","name":"x"}`) },
		"a template gone":     func(e *mcp.Entry) { e.ResourceTemplates = nil },
		"a server's new name": func(e *mcp.Entry) { e.Name = "b" },
		"a server not ready":  func(e *mcp.Entry) { e.Server = nil },
	} {
		entries := base()
		edit(&entries[0])
		if !c.Set(entries) {
			t.Errorf("%s is no change", name)
		}
		c.Set(base())
	}
	for name, edit := range map[string]func(*mcp.Entry){
		"another server behind it": func(e *mcp.Entry) { e.Server = serverFunc(nil) },
		"its instructions":         func(e *mcp.Entry) { e.Instructions = "x" },
		"a broken definition":      func(e *mcp.Entry) { e.Tools = append(e.Tools, mcp.Definition{Name: "x", Raw: json.RawMessage(`[]`)}) },
		"an entry without tools":   func(e *mcp.Entry) { e.Capabilities = json.RawMessage(`{"tools":{}}`) },
	} {
		entries := base()
		edit(&entries[0])
		if c.Set(entries) {
			t.Errorf("%s is a change", name)
		}
	}
}

func TestCollidingPromptsAndResources(t *testing.T) {
	entry := func(id, name string) mcp.Entry {
		return mcp.Entry{
			ID: id, Name: name, Server: echo,
			Prompts: []mcp.Definition{{Name: "ask", Raw: json.RawMessage(`{"name":"ask"}`)}, {Name: name + "!", Raw: json.RawMessage(`{"name":"` + name + `!"}`)}},
			Resources: []mcp.Definition{
				{Name: "file:///a", Raw: json.RawMessage(`{"uri":"file:///a","n":1.0}`)},
				{Name: "x:" + name, Raw: json.RawMessage(`{"uri":"x:` + name + `"}`)},
			},
			ResourceTemplates: []mcp.Definition{{Name: "t:{id}", Raw: json.RawMessage(`{"uriTemplate":"t:{id}"}`)}},
			Capabilities:      json.RawMessage(`{"completions":{}}`),
		}
	}
	b := newBed(t, mcp.Options{}, entry("1", "a"), entry("2", "b"))
	equal(t, "prompts", fmt.Sprint(namesOf(b.catalogue.Prompts())), "[ask a! b__ask b!]")
	equal(t, "resources", fmt.Sprint(namesOf(b.catalogue.Resources())), "[file:///a x:a server:b/file:///a x:b]")
	equal(t, "templates", fmt.Sprint(namesOf(b.catalogue.ResourceTemplates())), "[t:{id} server:b/t:{id}]")
	for request, want := range map[string]string{
		`"method":"prompts/get","params":{"name":"b__ask"}`:                                                           `{"name":"ask"}`,
		`"method":"resources/read","params":{"uri":"file:///a"}`:                                                      `{"uri":"file:///a"}`,
		`"method":"resources/read","params":{"uri":"server:b/file:///a"}`:                                             `{"uri":"file:///a"}`,
		`"method":"resources/read","params":{"uri":"server:b/t:9"}`:                                                   `{"uri":"t:9"}`,
		`"method":"resources/read","params":{"uri":"t:9"}`:                                                            `{"uri":"t:9"}`,
		`"method":"resources/read","params":{"uri":"never:listed"}`:                                                   `{"uri":"never:listed"}`,
		`"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"b__ask"},"n":1.0}`:               `{"ref":{"type":"ref/prompt","name":"ask"},"n":1.0}`,
		`"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"server:b/t:{id}"},"n":1.0}`:     `{"ref":{"type":"ref/resource","uri":"t:{id}"},"n":1.0}`,
		`"method":"completion/complete","params":{"ref":{"uri":"t:{id}","type":"ref/resource"},"argument":{"a":"b"}}`: `{"ref":{"uri":"t:{id}","type":"ref/resource"},"argument":{"a":"b"}}`,
	} {
		a := b.post(t, `{"jsonrpc":"2.0","id":1,`+request+`}`)
		if !strings.Contains(a.body, `"params":`+want+`}`) {
			t.Errorf("%s:\n got %s\nwant …%s…", request, a.body, want)
		}
	}
	a := b.post(t, `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"none"}}}`)
	if !strings.Contains(a.body, `"code":-32602`) {
		t.Errorf("completion of nothing: %s", a.body)
	}
}

func namesOf(definitions []mcp.Definition) (names []string) {
	for _, definition := range definitions {
		names = append(names, definition.Name)
	}
	return names
}

func TestCapabilitiesFollowTheServers(t *testing.T) {
	capabilities := func(options mcp.Options, entries ...mcp.Entry) string {
		b := newBed(t, options, entries...)
		a := b.post(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
		result, _ := wire.Get([]byte(a.body), "result")
		found, _ := wire.Get(result, "capabilities")
		return string(found)
	}
	equal(t, "none", capabilities(mcp.Options{}), `{"tools":{"listChanged":true}}`)
	equal(t, "all", capabilities(mcp.Options{}, mcp.Entry{ID: "1", Capabilities: json.RawMessage(`{"prompts":{},"logging":{}}`)},
		mcp.Entry{ID: "2", Capabilities: json.RawMessage(`{"resources":{"subscribe":true},"completions":{}}`)}),
		`{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"completions":{},"logging":{}}`)
	equal(t, "ahead", capabilities(mcp.Options{Declare: mcp.DeclarePrompts | mcp.DeclareResources}),
		`{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true}}`)
}

func TestEntriesAreGivenBack(t *testing.T) {
	c := mcp.NewCatalogue()
	entries := []mcp.Entry{{ID: "2", Name: "b"}, {ID: "1", Name: "a"}}
	c.Set(entries)
	entries[0].Name = "changed"
	equal(t, "entries", fmt.Sprint(slices.Collect(func(yield func(string) bool) {
		for _, entry := range c.Entries() {
			yield(entry.Name)
		}
	})), "[b a]")
}
