package mcpconfig

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

var fileRows = []row{
	{1, "no servers on purpose", func(t *testing.T, b *bed) {
		set, problems := b.load(`{"mcpServers":{}}`)
		if len(problems) != 0 || len(set.All()) != 0 || !set.Sources()[0].OK {
			t.Fatal(set, problems)
		}
	}},
	{2, "no root key", func(t *testing.T, b *bed) { mustHave(t, b.lost(`{}`).Message, "no mcpServers") }},
	{3, "root key in another case", func(t *testing.T, b *bed) {
		for _, key := range []string{"mcpservers", "MCPServers", "mcp_servers", "McpServers"} {
			p := b.lost("{\n  \"" + key + "\":{}}")
			mustHave(t, p.Message, "no mcpServers: did you mean")
			mustHave(t, p.Message, key)
			if p.Line != 2 || p.Column != 3 {
				t.Fatal(p)
			}
		}
	}},
	{4, "servers", func(t *testing.T, b *bed) {
		mustHave(t, b.lost(`{"servers":{"a":{"command":"x"}}}`).Message, "no mcpServers: servers is VS Code's spelling")
	}},
	{5, "mcp", func(t *testing.T, b *bed) {
		mustHave(t, b.lost(`{"mcp":{"a":{"type":"local","command":["x"]}}}`).Message, "no mcpServers: mcp is opencode's spelling")
		mustHave(t, b.lost(`{"context_servers":{}}`).Message, "no mcpServers: context_servers is Zed's spelling")
	}},
	{6, "entries without the root key", func(t *testing.T, b *bed) {
		mustHave(t, b.lost(`{"a":{"command":"x"}}`).Message, "no mcpServers: wrap the entries")
	}},
	{7, "fields of one server under the root key", func(t *testing.T, b *bed) {
		set, problems := b.load(`{"mcpServers":{"type":"http","url":"https://h/mcp"}}`)
		if len(set.Servers()) != 0 || len(problems) != 2 || problems[0].WholeFile() {
			t.Fatal(problems)
		}
		mustSay(t, problems, "", "fields of one server stand directly under mcpServers: give it a name")
		set, problems = b.load(`{"mcpServers":{"command":"x","env":{"A":"b"},"good":{"command":"y"}}}`)
		if !slices.Equal(names(set.Servers()), []string{"good"}) || len(problems) != 2 {
			t.Fatal(set.Servers(), problems)
		}
	}},
	{8, "empty", func(t *testing.T, b *bed) {
		for _, text := range []string{"", " \n\t ", "\r\n", "// nothing\n", "\xef\xbb\xbf"} {
			mustHave(t, b.lost(text).Message, "the file is empty")
		}
	}},
	{9, "not an object", func(t *testing.T, b *bed) {
		for _, text := range []string{`null`, `[]`, `"x"`, `3`} {
			mustHave(t, b.lost(text).Message, "not an object")
		}
		mustHave(t, b.lost(`{"mcpServers":[]}`).Message, "not an object")
	}},
	{10, "cut anywhere", func(t *testing.T, b *bed) {
		text := "{\"mcpServers\":\n{\"a\":{\"command\":\"x\",\"args\":[1.5e3,true,\"\\u00e9\"]},/* c */}"
		for length := 1; length <= len(text); length++ {
			p := b.lost(text[:length])
			mustHave(t, p.Message, "unexpected end")
			line, column := 1, length+1
			if length > 14 {
				line, column = 2, length-14
			}
			if p.Line != line || p.Column != column {
				t.Fatalf("cut at %d: %v, want %d:%d", length, p, line, column)
			}
		}
		p := b.lost("{\"mcpServers\":{\"a\":{\"command\":\"\xe5\x90")
		mustHave(t, p.Message, "unexpected end")
	}},
	{11, "data after the end", func(t *testing.T, b *bed) {
		p := b.lost("{\"mcpServers\":{}}\n }")
		mustHave(t, p.Message, "data after the end")
		if p.Line != 2 || p.Column != 2 {
			t.Fatal(p)
		}
		p = b.lost("{\"mcpServers\":{}}\n\n{\"mcpServers\":{}}")
		mustHave(t, p.Message, "data after the end")
		if p.Line != 3 || p.Column != 1 {
			t.Fatal(p)
		}
	}},
	{12, "git conflict", func(t *testing.T, b *bed) {
		p := b.lost("{\"mcpServers\":{\n<<<<<<< HEAD\n\"a\":{\"command\":\"x\"}\n=======\n\"a\":{}\n>>>>>>> other\n}}")
		mustHave(t, p.Message, "git conflict marker")
		if p.Line != 2 {
			t.Fatal(p)
		}
		for _, marker := range []string{"=======", ">>>>>>> other", "||||||| base"} {
			p := b.lost("{\"mcpServers\":{\n\"a\":{\"command\":\"x\"}\n" + marker + "\n}}")
			mustHave(t, p.Message, "git conflict marker")
			if p.Line != 3 {
				t.Fatal(p)
			}
		}
	}},
	{13, "comments and trailing commas", func(t *testing.T, b *bed) {
		s, problems := b.one("// c\n{/* c */\"mcpServers\"/**/:// c\n{\"a\":{\"command\":\"//x\", // c\n\"args\":[\"/* no */\",/* , */],},},}// c")
		if len(problems) != 0 || s.Command.Reveal() != "/x" || !slices.Equal(args(s), []string{"/* no */"}) {
			t.Fatal(problems, s.Command.Reveal(), args(s))
		}
	}},
	{14, "JSON5", func(t *testing.T, b *bed) {
		for text, words := range map[string]string{
			`{'mcpServers':{}}`:                              "double quotes",
			`{"mcpServers":{"a":{"command":'x'}}}`:           "double quotes",
			`{mcpServers:{}}`:                                "double quotes",
			`{"mcpServers":{"a":{"args":[+1]}}}`:             "+",
			`{"mcpServers":{"a":{"args":[0x10]}}}`:           "hexadecimal",
			`{"mcpServers":{"a":{"args":[.5]}}}`:             "dot",
			`{"mcpServers":{"a":{"args":[1.]}}}`:             "not a number",
			`{"mcpServers":{"a":{"args":[01]}}}`:             "zero",
			`{"mcpServers":{"a":{"args":[NaN]}}}`:            "only true, false and null",
			`{"mcpServers":{"a":{"args":[None]}}}`:           "only true, false and null",
			`{"mcpServers":{"a":{"args":[nul]}}}`:            "only true, false and null",
			`{"mcpServers":{"a":{"args":[,]}}}`:              "comma",
			`{"mcpServers":{"a":{"args":[1,,2]}}}`:           "comma",
			`{"mcpServers":{"a":{"args":[1 2]}}}`:            "a comma is missing",
			`{"mcpServers":{"a" {}}}`:                        "colon",
			`{"mcpServers":{"a":}}`:                          "a value is missing",
			`{"mcpServers":{"a":[}]}}`:                       "value",
			`{"mcpServers":{"a":{"args":[}}}}`:               "value",
			`{"mcpServers":{"a":{"command":"x"]}}`:           "closes nothing",
			"{\"mcpServers\":{\"a\":{\"command\":\"x\n\"}}}": "does not end on its line",
			"{\"mcpServers\":{\"a\":{\"command\":\"\t\"}}}":  "control character",
			`{"mcpServers":{"a":{"command":"C:\x"}}}`:        "escape",
			`{"mcpServers":{"a":{"command":"\u12x4"}}}`:      "hexadecimal",
			`{“mcpServers”:{}}`:                              "typographic",
			`{"mcpServers":{"a":{"command":“x”}}}`:           "typographic",
			"# c\n{}":                             "comments begin with //",
			`{"mcpServers":{} / }`:                "stray /",
			`{"mcpServers":{,}}`:                  "comma",
			`{"mcpServers":{]}}`:                  "closing }",
			`{"mcpServers":{"a":{"args":[-]}}}`:   "not a number",
			`{"mcpServers":{"a":{"args":[1e]}}}`:  "not a number",
			`{"mcpServers":{"a":{"args":[1s]}}}`:  "not a number",
			`{"mcpServers":{"a":{"args":[1;2]}}}`: "comma should stand here",
		} {
			mustHave(t, b.lost(text).Message, words)
		}
		if p := b.lost("{\n  mcpServers: {}}"); p.Line != 2 || p.Column != 3 {
			t.Fatal(p)
		}
	}},
	{15, "BOM and CRLF", func(t *testing.T, b *bed) {
		text := "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n  }\n}\n"
		plain, _ := b.load(text)
		other, problems := b.load("\xef\xbb\xbf" + strings.ReplaceAll(text, "\n", "\r\n"))
		if len(problems) != 0 || !plain.Equal(other) || len(other.Servers()) != 1 {
			t.Fatal(problems, other)
		}
		if s := other.Servers()[0].Source; s.Line != 3 || s.Column != 5 {
			t.Fatal(s)
		}
		if p := b.lost("\xef\xbb\xbf{x"); p.Column != 2 {
			t.Fatal("the byte order mark counts as a column:", p)
		}
	}},
	{16, "UTF-16", func(t *testing.T, b *bed) {
		units := utf16.Encode([]rune("\uFEFF{\"mcpServers\":{}}"))
		var little, big bytes.Buffer
		for _, u := range units {
			little.Write([]byte{byte(u), byte(u >> 8)})
			big.Write([]byte{byte(u >> 8), byte(u)})
		}
		for _, text := range []string{little.String(), big.String(), little.String()[2:], big.String()[2:]} {
			mustHave(t, b.lost(text).Message, "save it as UTF-8")
		}
	}},
	{17, "Latin-1", func(t *testing.T, b *bed) {
		p := b.lost("{\"mcpServers\":{\n\"é\":{\"command\":\"\xe9t\xe9\"}}}")
		mustHave(t, p.Message, "invalid UTF-8")
		if p.Line != 2 || p.Column != 17 {
			t.Fatal(p)
		}
		mustHave(t, b.lost("{\"mcpServers\":{}}\x00").Message, "NUL")
	}},
	{59, "too deep and too large", func(t *testing.T, b *bed) {
		for _, input := range []struct{ text, words string }{
			{strings.Repeat("[", 100_000), "too deep"},
			{`{"mcpServers":{"a":{"x":` + strings.Repeat("[", 100_000), "too deep"},
			{strings.Repeat(`{"a":`, 100_000), "too deep"},
			{"{" + strings.Repeat(" ", 5<<20) + "}", "too large"},
		} {
			took := timed(t, func() { mustHave(t, b.lost(input.text).Message, input.words) })
			if took > hostileTime {
				t.Errorf("took %v", took)
			}
		}
		b.load(entries(`"a":{"command":"x","foreign":` + strings.Repeat("[", 150) + strings.Repeat("]", 150) + `}`))
		if set, problems := Load(b.options); len(problems) != 0 || len(set.Servers()) != 1 {
			t.Fatal(problems)
		}
	}},
}

var nameRows = []row{
	{18, "name twice", func(t *testing.T, b *bed) {
		set, problems := b.load("{\"mcpServers\":{\"a\":{\"command\":\"x\"},\n \"a\":{\"command\":\"y\"}}}")
		if len(set.Servers()) != 0 || len(set.All()) != 1 || len(problems) != 1 {
			t.Fatal(set.All(), problems)
		}
		p := problems[0]
		mustHave(t, p.Message, "defined twice: first at line 1, column 16")
		if p.Server != "a" || p.Line != 2 || p.Column != 2 {
			t.Fatal(p)
		}
		mustHave(t, b.lost(`{"mcpServers":{},"mcpServers":{}}`).Message, "twice: first at line 1, column 2")
		_, problems = b.load(`{"mcpServers":{"a":{"command":"x"},"\u0061":{"command":"y"}}}`)
		mustSay(t, problems, "", "defined twice")
	}},
	{19, "key in another case", func(t *testing.T, b *bed) {
		s, problems := b.one(fields(`"command":"x","COMMAND":"y"`))
		if s.Command.Reveal() != "x" || len(problems) != 1 {
			t.Fatal(s.Command.Reveal(), problems)
		}
		mustSay(t, problems, "COMMAND", "unknown key")
		mustSay(t, b.bad(`{"command":"x","Args":["y"]}`), "Args", "did you mean args")
	}},
	{20, "key twice", func(t *testing.T, b *bed) {
		errs := b.bad(`{"command":"x","command":"y"}`)
		mustSay(t, errs, "command", "given twice: first at line 2, column 8")
		if errs[0].Column != 22 {
			t.Fatal(errs)
		}
		mustSay(t, b.bad(`{"command":"x","env":{"A":"1","A":"2"}}`), "env.A", "given twice")
		mustSay(t, b.bad(`{"url":"https://h","headers":{"A":"1","A":"2"}}`), "headers.A", "given twice")
		mustSay(t, b.bad(`{"url":"https://h","headers":{"A":"1","a":"2"}}`), "headers.a", "twice")
	}},
	{21, "blank name", func(t *testing.T, b *bed) {
		mustSay(t, b.badMember(`"":{"command":"x"}`), "", "empty name")
		mustSay(t, b.badMember(`"  ":{"command":"x"}`), "", "empty name")
	}},
	{22, "two underscores in a name", func(t *testing.T, b *bed) {
		mustSay(t, b.badMember(`"a__b":{"command":"x"}`), "", "__")
	}},
	{23, "names of all kinds", func(t *testing.T, b *bed) {
		want := []string{"Figma Desktop", "@org/tool", "io.github.x/y", "名前", strings.Repeat("n", 64), strings.Repeat("n", 300)}
		var members []string
		for _, name := range want {
			members = append(members, `"`+name+`":{"command":"x"}`)
		}
		set, problems := b.load(entries(strings.Join(members, ",")))
		slices.Sort(want)
		if len(problems) != 0 || !slices.Equal(names(set.Servers()), want) {
			t.Fatal(problems, names(set.Servers()))
		}
		ids := map[string]bool{}
		for _, s := range set.Servers() {
			ids[s.ID()] = true
		}
		if len(ids) != len(want) {
			t.Fatal("identities are not unique")
		}
	}},
}
