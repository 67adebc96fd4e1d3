package mcpconfig

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var transportRows = []row{
	{24, "command and url", func(t *testing.T, b *bed) {
		mustSay(t, b.bad(`{"command":"x","url":"https://h"}`), "", "both command and url: set type")
	}},
	{25, "command and url with a type", func(t *testing.T, b *bed) {
		for text, transport := range map[string]Transport{"stdio": TransportStdio, "http": TransportHTTP, "sse": TransportSSE} {
			s, _ := b.one(fields(`"command":"x","url":"https://h","type":"` + text + `"`))
			if s.Transport != transport || s.Inferred || s.Command.IsZero() != (transport != TransportStdio) || s.URL.IsZero() != (transport == TransportStdio) {
				t.Fatal(text, s)
			}
		}
	}},
	{26, "neither command nor url", func(t *testing.T, b *bed) {
		mustSay(t, b.bad(`{"args":["x"]}`), "", "neither command nor url")
		mustSay(t, b.bad(`{}`), "", "neither command nor url")
		mustSay(t, b.bad(`{"comand":"x"}`), "", "did you mean command")
		for _, entry := range []string{`null`, `"x"`, `3`, `[]`, `true`} {
			mustSay(t, b.bad(entry), "", "not an object")
		}
	}},
	{27, "unknown transports", func(t *testing.T, b *bed) {
		for _, text := range []string{"carrier-pigeon", "ws", "sdk", ""} {
			mustSay(t, b.bad(`{"command":"x","type":"`+text+`"}`), "type", `unknown transport "`+text+`"`)
		}
		mustSay(t, b.bad(`{"command":"x","type":3}`), "type", "unknown transport 3")
		mustSay(t, b.bad(`{"command":"x","type":{}}`), "type", "unknown transport")
		mustSay(t, b.bad(`{"command":"x","type":"local"}`), "type", "write stdio")
		mustSay(t, b.bad(`{"url":"https://h","type":"remote"}`), "type", "write http")
	}},
	{28, "spellings of http", func(t *testing.T, b *bed) {
		for _, text := range []string{"streamable-http", "streamableHttp", " http ", "http"} {
			if s, problems := b.one(fields(`"url":"https://h/mcp","type":"` + text + `"`)); s.Transport != TransportHTTP || s.Inferred || len(problems) != 0 {
				t.Fatal(text, s, problems)
			}
		}
	}},
	{29, "url alone", func(t *testing.T, b *bed) {
		s, problems := b.one(fields(`"url":"https://h/mcp"`))
		if s.Transport != TransportSSE || !s.Inferred || len(problems) != 0 {
			t.Fatal(s, problems)
		}
		if s, _ := b.one(fields(`"url":"https://h/mcp","type":"sse"`)); s.Inferred {
			t.Fatal(s)
		}
		if s, _ := b.one(fields(`"command":"x"`)); s.Transport != TransportStdio || s.Inferred {
			t.Fatal(s)
		}
	}},
	{30, "transport instead of type", func(t *testing.T, b *bed) {
		s, problems := b.one(fields(`"url":"https://h","transport":"sse"`))
		if s.Transport != TransportSSE || s.Inferred {
			t.Fatal(s)
		}
		mustSay(t, problems, "transport", "the key is type")
		mustSay(t, b.bad(`{"url":"https://h","transport":"pigeon"}`), "transport", "unknown transport")
	}},
	{31, "transport as an object", func(t *testing.T, b *bed) {
		mustSay(t, b.bad(`{"transport":{"type":"http","url":"https://h"}}`), "transport", "move the fields up")
	}},
	{32, "type without its field", func(t *testing.T, b *bed) {
		mustSay(t, b.bad(`{"type":"stdio","url":"https://h"}`), "command", "no command")
		mustSay(t, b.bad(`{"type":"http","command":"x"}`), "url", "no url")
	}},
}

var stdioRows = []row{
	{33, "blank command", func(t *testing.T, b *bed) {
		mustSay(t, b.bad(`{"command":"  "}`), "command", "no command")
		mustSay(t, b.bad(`{"command":"${E}"}`), "command", "no command")
	}},
	{34, "command as an array", func(t *testing.T, b *bed) {
		mustSay(t, b.bad(`{"command":["npx","-y","p"]}`), "command", "arguments go in args")
		mustSay(t, b.bad(`{"command":3}`), "command", "must be a string")
	}},
	{35, "command with spaces", func(t *testing.T, b *bed) {
		s, problems := b.one(fields(`"command":"npx -y p"`))
		if s.Command.Reveal() != "npx -y p" || len(problems) != 1 || problems[0].Severity != SeverityWarning {
			t.Fatal(s.Command.Reveal(), problems)
		}
		mustSay(t, problems, "command", "arguments go in args")
		b.write(filepath.Join(b.root, "my server"), "")
		if _, problems := b.one(fields(`"command":"./my server"`)); len(problems) != 0 {
			t.Fatal(problems)
		}
	}},
	{36, "args", func(t *testing.T, b *bed) {
		if s, problems := b.one(fields(`"command":"x","args":null`)); len(s.Args) != 0 || len(problems) != 0 {
			t.Fatal(args(s), problems)
		}
		mustSay(t, b.bad(`{"command":"x","args":"x"}`), "args", "must be an array")
		if s, _ := b.one(fields(`"command":"x","args":["--port",8080,true]`)); !slices.Equal(args(s), []string{"--port", "8080", "true"}) {
			t.Fatal(args(s))
		}
		mustSay(t, b.bad(`{"command":"x","args":[["x"]]}`), "args[0]", "must be a string")
		mustSay(t, b.bad(`{"command":"x","args":["x",null]}`), "args[1]", "must be a string")
		mustSay(t, b.bad(`{"command":"x","args":[`+strings.Repeat(`"",`, maxArgs+1)+`]}`), "args", "more than")
	}},
	{37, "env of other kinds", func(t *testing.T, b *bed) {
		s, problems := b.one(fields(`"command":"x","env":{"A":3000,"B":true,"C":1.50,"D":12345678901234567890,"E":null}`))
		want := []string{"A=3000", "B=true", "C=1.50", "D=12345678901234567890", "E"}
		if !slices.Equal(envs(s), want) || len(problems) != 0 {
			t.Fatal(envs(s), problems)
		}
	}},
	{38, "env that is none", func(t *testing.T, b *bed) {
		mustSay(t, b.bad(`{"command":"x","env":{"A":{}}}`), "env.A", "must be a string")
		mustSay(t, b.bad(`{"command":"x","env":"x"}`), "env", "must be an object")
		mustSay(t, b.bad(`{"command":"x","env":["x"]}`), "env", "must be an object")
		for _, name := range []string{"A=B", "", `a\u0000b`, `\ud800`} {
			mustSay(t, b.bad(`{"command":"x","env":{"`+name+`":"x"}}`), "env", "the name of a variable is not allowed")
		}
	}},
	{57, "cwd", func(t *testing.T, b *bed) {
		for given, want := range map[string]string{
			`"relative"`: filepath.Join(b.root, "relative"), `"../up"`: filepath.Join(filepath.Dir(b.root), "up"),
			`"~/x"`: filepath.Join(b.home, "x"), `"~"`: b.home, `""`: b.root, `null`: b.root,
			`"${workspaceFolder}/missing"`: filepath.Join(b.root, "missing"),
		} {
			if s, problems := b.one(fields(`"command":"x","cwd":` + given)); s.Cwd.Reveal() != want || len(problems) != 0 {
				t.Fatalf("cwd %s: %q, want %q\n%v", given, s.Cwd.Reveal(), want, problems)
			}
		}
		if s, _ := b.one(fields(`"command":"x"`)); s.Cwd.Reveal() != b.root {
			t.Fatal(s.Cwd.Reveal())
		}
		b.options.Workspaces = nil
		b.write(b.globFile, entries(`"a":{"command":"./x","cwd":"sub"},"b":{"command":"x"}`))
		set, problems := Load(b.options)
		if len(problems) != 0 || set.Servers()[0].Cwd.Reveal() != filepath.Join(b.home, "sub") || set.Servers()[1].Cwd.Reveal() != b.home ||
			set.Servers()[0].Command.Reveal() != filepath.Join(b.home, "x") {
			t.Fatal(problems)
		}
	}},
	{58, "command with a path", func(t *testing.T, b *bed) {
		for given, want := range map[string]string{
			"./bin/x": filepath.Join(b.root, "bin", "x"), "bin/x": filepath.Join(b.root, "bin", "x"),
			"~/bin/x": filepath.Join(b.home, "bin", "x"), "x": "x", filepath.ToSlash(b.home) + "/x": filepath.Join(b.home, "x"),
		} {
			if s, problems := b.one(fields(`"command":"` + given + `","cwd":"elsewhere"`)); s.Command.Reveal() != want || len(problems) != 0 {
				t.Fatalf("command %s: %q, want %q\n%v", given, s.Command.Reveal(), want, problems)
			}
		}
		if s, _ := b.one(fields(`"command":"x","args":["~/a","~","a~","~b"]`)); !slices.Equal(args(s), []string{filepath.Join(b.home, "a"), b.home, "a~", "~b"}) {
			t.Fatal(args(s))
		}
	}},
	{60, "NUL and half surrogates", func(t *testing.T, b *bed) {
		mustSay(t, b.bad(`{"command":"a\u0000b"}`), "command", "NUL")
		for _, text := range []string{`\ud800`, `\udc00\ud800`, `\ud83dx`, `\ud83d\u0041`} {
			mustSay(t, b.bad(`{"command":"`+text+`"}`), "command", "surrogate")
		}
		if s, _ := b.one(fields(`"command":"\ud83d\ude00\u00e9\n\"\\\/x"`)); s.Command.Reveal() != filepath.Join(b.root, "😀é\n\"\\", "x") {
			t.Fatal(s.Command.Reveal())
		}
		mustSay(t, b.bad(`{"command":"x","args":["a\u0000b"]}`), "args[0]", "NUL")
		mustSay(t, b.badMember(`"\ud800":{"command":"x"}`), "", "surrogate")
	}},
}

// expansions checks what values of env.A become.
func expansions(t *testing.T, b *bed, want map[string]string) {
	t.Helper()
	for given, value := range want {
		s, problems := b.one(fields(`"command":"x","env":{"A":"` + given + `"}`))
		if got := s.Env[0].Value.Reveal(); got != value || len(problems) != 0 {
			t.Fatalf("%s became %q, want %q\n%v", given, got, value, problems)
		}
	}
}

func expansionFails(t *testing.T, b *bed, given, words string) {
	t.Helper()
	errs := b.bad(`{"command":"x","env":{"A":"` + given + `"}}`)
	if len(errs) != 1 || errs[0].Server != "a" {
		t.Fatal(errs)
	}
	mustSay(t, errs, "env.A", words)
}

var expansionRows = []row{
	{39, "variables and defaults", func(t *testing.T, b *bed) {
		expansions(t, b, map[string]string{"${T}": "tok", "${Y:-d}": "d", "${E:-d}": "d", "${E}": "", "${T:-d}": "tok"})
		expansionFails(t, b, "${Y}", "variable Y is not set")
	}},
	{40, "nested defaults", func(t *testing.T, b *bed) {
		expansions(t, b, map[string]string{
			"${Y:-${T}/x}": "tok/x", "${Y:-}": "", "a${T}b${T}c": "atokbtokc", "${ T }": "tok",
			"${Y:-{}}": "{}", "${Y:-${Y:-${Y:-z}}}": "z", "x${Y:-:-}y": "x:-y", "${T}}": "tok}",
		})
		expansionFails(t, b, "${Y:-${Y}}", "variable Y is not set")
		expansionFails(t, b, strings.Repeat("${Y:-", 100)+strings.Repeat("}", 100), "too deep")
	}},
	{41, "broken placeholders", func(t *testing.T, b *bed) {
		expansionFails(t, b, "${T", "unterminated")
		expansionFails(t, b, "${Y:-{}", "unterminated")
		expansionFails(t, b, "${}", "empty placeholder")
		expansionFails(t, b, "${ }", "empty placeholder")
		expansionFails(t, b, "${:-d}", "empty placeholder")
	}},
	{42, "what is literal", func(t *testing.T, b *bed) {
		expansions(t, b, map[string]string{
			"$T": "$T", "$": "$", "${_x%o}": "${_x%o}", "$(id)": "$(id)", "$${T}": "$tok", "${1}": "${1}", "${T?x}": "${T?x}", "}{": "}{",
		})
	}},
	{43, "placeholders of editors", func(t *testing.T, b *bed) {
		expansionFails(t, b, "${input:key}", "a service cannot prompt")
		expansionFails(t, b, "${env:T}", "write ${T}")
		expansionFails(t, b, "${env:}", "write ${NAME}")
		expansionFails(t, b, "${command:x}", "editor")
		expansionFails(t, b, "${userHome}", "${HOME}")
		expansionFails(t, b, "${TRAPOS_SERVER_PASSWORD}", "secret of traposd itself")
		expansions(t, b, map[string]string{"${workspaceFolder}/x": b.root + "/x", "${workspaceFolder:-d}": b.root})
		b.options.Workspaces = nil
		b.write(b.globFile, entries(`"a":{"command":"${workspaceFolder}/x"},"b":{"command":"${workspaceFolder:-y}"}`))
		set, problems := Load(b.options)
		mustSay(t, problems, "command", "workspaceFolder is not known here")
		if len(problems) != 1 || set.Servers()[0].Command.Reveal() != "y" {
			t.Fatal(problems)
		}
	}},
	{44, "a value is not expanded again", func(t *testing.T, b *bed) {
		b.options.Getenv = environment(map[string]string{"T": "a${Y}b"})
		expansions(t, b, map[string]string{"${T}": "a${Y}b", "${Y:-${T}}": "a${Y}b"})
	}},
}
