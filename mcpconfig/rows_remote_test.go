package mcpconfig

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var remoteRows = []row{
	{45, "unset variable in a header", func(t *testing.T, b *bed) {
		errs := b.bad(`{"url":"https://h","headers":{"Authorization":"Bearer ${Y}"}}`)
		mustSay(t, errs, "headers.Authorization", "variable Y is not set")
	}},
	{46, "headers that HTTP does not allow", func(t *testing.T, b *bed) {
		mustSay(t, b.bad(`{"url":"https://h","headers":{"A":"x\r\nB: y"}}`), "headers.A", "not valid for HTTP")
		mustSay(t, b.bad(`{"url":"https://h","headers":{"bad name":"x"}}`), "headers", "not valid for HTTP")
		mustSay(t, b.bad(`{"url":"https://h","headers":{"A":[]}}`), "headers.A", "must be a string")
		mustSay(t, b.bad(`{"url":"https://h","headers":["A"]}`), "headers", "must be an object")
		s, _ := b.one(fields(`"url":"https://h","headers":{"X-B":3,"Accept":"a\tb","X-C":null}`))
		if len(s.Headers) != 2 || s.Headers[0].Name != "Accept" || s.Headers[1].Value.Reveal() != "3" {
			t.Fatal(s.Headers)
		}
	}},
	{47, "plaintext to another host", func(t *testing.T, b *bed) {
		mustSay(t, b.bad(`{"url":"http://example.com/mcp","headers":{"A":"x"}}`), "url", "plaintext")
		mustSay(t, b.bad(`{"url":"http://u:p@example.com/mcp"}`), "url", "plaintext")
		b.one(fields(`"url":"http://example.com/mcp"`))
		b.one(fields(`"url":"https://example.com/mcp","headers":{"A":"x"}`))
	}},
	{48, "plaintext to loopback", func(t *testing.T, b *bed) {
		for _, url := range []string{"http://127.0.0.1:1/", "http://[::1]/", "http://LOCALHOST/", "http://127.9.9.9/", "http://[::ffff:127.0.0.1]/", "http://localhost./"} {
			b.one(fields(`"url":"` + url + `","headers":{"A":"x"}`))
		}
		for _, url := range []string{"http://localhost.example.com", "http://127.0.0.1.example.com", "http://127.1", "http://10.0.0.1", "http://x.localhost", "http://0.0.0.0"} {
			mustSay(t, b.bad(`{"url":"`+url+`","headers":{"A":"x"}}`), "url", "plaintext")
		}
	}},
	{49, "no key of the file allows plaintext", func(t *testing.T, b *bed) {
		for _, key := range []string{"allow_plaintext_credentials", "allowPlaintextCredentials"} {
			mustSay(t, b.bad(`{"url":"http://example.com/mcp","headers":{"A":"x"},"`+key+`":true}`), "url", "plaintext")
		}
		b.options.Supplied = []SuppliedFile{{
			Path: "traposd.json", Root: "servers",
			Data: []byte(`{"servers":{"s":{"url":"http://example.com/mcp","headers":{"A":"x"},"allowPlaintextCredentials":true}}}`),
		}}
		set, problems := b.load(`{"mcpServers":{}}`)
		if len(problems) != 0 || len(set.Servers()) != 1 || !set.Servers()[0].AllowPlaintextCredentials {
			t.Fatal(problems)
		}
	}},
	{50, "not an absolute http url", func(t *testing.T, b *bed) {
		for _, url := range []string{
			"-Kx", "h/mcp", "file:///x", "javascript:x", "https://", "", "  ", "http:h", "https://:443/", "//h/mcp",
			"https://h:99999/", "https://h:0/", "https://a b/", "https://h\\n/", "https://[::1/", "HTTPS//h", "ws://h/",
		} {
			mustSay(t, b.bad(`{"url":"`+url+`"}`), "url", "must be an absolute http or https url")
		}
		mustSay(t, b.bad(`{"url":["https://h"]}`), "url", "must be a string")
	}},
	{51, "our own listener", func(t *testing.T, b *bed) {
		for _, host := range []string{
			"127.0.0.1", "localhost", "LocalHost", "localhost.", "[::1]", "[::ffff:127.0.0.1]", "127.1", "0.0.0.0", "[::]", "127.255.0.1",
			"2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "x.localhost", "１２７.０.０.１", "u:p@127.0.0.1", "[::1%25lo]",
		} {
			mustSay(t, b.bad(`{"url":"http://`+host+`:4445/mcp"}`), "url", "points at traposd itself")
		}
		for _, url := range []string{"http://127.0.0.1:4446/mcp", "http://127.0.0.1/mcp", "https://example.com:4445/mcp", "http://10.0.0.1:4445/"} {
			b.one(fields(`"url":"` + url + `"`))
		}
		b.options.Self = []string{"10.0.0.1:80", ":443", "nonsense"}
		mustSay(t, b.bad(`{"url":"http://10.0.0.1/"}`), "url", "points at traposd itself")
		mustSay(t, b.bad(`{"url":"https://localhost/"}`), "url", "points at traposd itself")
		b.one(fields(`"url":"http://127.0.0.1/"`))
	}},
	{52, "credentials in a url", func(t *testing.T, b *bed) {
		s, problems := b.one(fields(`"url":"https://u:p@h/mcp?key=k"`))
		if s.URL.Reveal() != "https://u:p@h/mcp?key=k" || len(problems) != 0 {
			t.Fatal(problems)
		}
		if s.ShownURL() != "https://***@h/mcp?***" {
			t.Fatal(s.ShownURL())
		}
	}},
	{54, "keys of other programs", func(t *testing.T, b *bed) {
		for _, key := range []string{"link", "serverUrl", "httpUrl", "uri", "URL", "serverurl"} {
			errs := b.bad(`{"` + key + `":"https://h"}`)
			mustSay(t, errs, key, "did you mean url")
			if len(errs) != 1 {
				t.Fatal(errs)
			}
			if errs := b.bad(`{"type":"http","` + key + `":"https://h"}`); len(errs) != 1 {
				t.Fatal(errs)
			}
		}
		mustSay(t, b.bad(`{"cmd":"x"}`), "cmd", "did you mean command")
		mustSay(t, b.bad(`{"command":"x","environment":{"A":"b"}}`), "environment", "did you mean env")
		mustSay(t, b.bad(`{"command":"x","arguments":["b"]}`), "arguments", "did you mean args")
		_, problems := b.one(fields(`"command":"x","link":"https://h","env":{},"environment":{}`))
		if len(problems) != 2 || problems.Errors() {
			t.Fatal(problems)
		}
	}},
}

var sharedRows = []row{
	{53, "switched off", func(t *testing.T, b *bed) {
		for _, off := range []string{`"disabled":true`, `"enabled":false`, `"disabled":false,"enabled":false`} {
			set, problems := b.load(fields(`"command":"x",` + off))
			if len(set.Servers()) != 0 || len(problems) != 0 || len(set.All()) != 1 || !set.All()[0].Disabled || set.All()[0].Invalid {
				t.Fatal(off, set.All(), problems)
			}
		}
		for _, on := range []string{`"disabled":false`, `"enabled":true`, `"disabled":null`} {
			b.one(fields(`"command":"x",` + on))
		}
		mustSay(t, b.bad(`{"command":"x","disabled":"true"}`), "disabled", "true or false")
		mustSay(t, b.bad(`{"command":"x","enabled":1}`), "enabled", "true or false")
		set, problems := b.load(fields(`"command":"x","env":{"A":"${Y}"},"disabled":true`))
		if problems.Errors() || len(problems) != 1 || set.All()[0].Invalid {
			t.Fatal("an entry that is off needs no variables:", problems)
		}
	}},
	{55, "what is not ours", func(t *testing.T, b *bed) {
		_, problems := b.one(`{"$schema":"s","inputs":[],"other":{"x":{}},"mcpServers":{"a":{"command":"x","alwaysAllow":["t"],
			"autoApprove":[],"description":"d","gallery":true,"oauth":{"clientId":"c"},"$schema":"s","alwaysLoad":true,"icon":1}}}`)
		if len(problems) != 0 {
			t.Fatal(problems)
		}
	}},
	{56, "headersHelper", func(t *testing.T, b *bed) {
		_, problems := b.one(fields(`"url":"https://h","headersHelper":"touch x"`))
		if len(problems) != 1 || problems.Errors() {
			t.Fatal(problems)
		}
		mustSay(t, problems, "headersHelper", "not run")
	}},
}

var mergeRows = []row{
	{61, "an invalid entry hides the global one", func(t *testing.T, b *bed) {
		b.write(b.globFile, entries(`"a":{"command":"global"}`))
		set, problems := b.load(fields(`"args":[]`))
		hidesGlobal(t, b, set)
		if !problems.Errors() || !set.All()[0].Invalid {
			t.Fatal(problems)
		}
	}},
	{62, "a disabled entry hides the global one", func(t *testing.T, b *bed) {
		b.write(b.globFile, entries(`"a":{"command":"global"}`))
		set, problems := b.load(fields(`"command":"x","disabled":true`))
		hidesGlobal(t, b, set)
		if len(problems) != 0 || !set.All()[0].Disabled {
			t.Fatal(problems)
		}
	}},
	{63, "one file by two ways", func(t *testing.T, b *bed) {
		b.write(b.globFile, entries(`"a":{"command":"x"}`))
		if err := os.Symlink(b.globFile, b.workspaceFile); err != nil {
			t.Fatal(err)
		}
		set, problems := Load(b.options)
		if len(problems) != 0 || len(set.Sources()) != 1 || len(set.All()) != 1 || len(set.View(b.root)) != 1 {
			t.Fatal(set, problems)
		}
		if s := set.All()[0]; s.Source.Scope != ScopeWorkspace || len(s.Shadows) != 0 {
			t.Fatal(s)
		}
		if !slices.Equal(set.WatchPaths(), []string{b.globFile, b.workspaceFile}) {
			t.Fatal(set.WatchPaths())
		}
		if other := set.View(b.home); len(other) != 1 {
			t.Fatal("another workspace lost the global servers:", other)
		}
	}},
	{64, "the folder above a workspace", func(t *testing.T, b *bed) {
		b.write(filepath.Join(filepath.Dir(b.root), WorkspaceFile), entries(`"parent":{"command":"x"}`))
		set, problems := Load(b.options)
		if len(problems) != 0 || len(set.All()) != 0 {
			t.Fatal(set, problems)
		}
	}},
	{65, "the same command twice", func(t *testing.T, b *bed) {
		set, problems := b.load(entries(`"a":{"command":"x","args":["y"],"env":{"A":"1"}},"b":{"command":"x","args":["y"],"env":{"A":"2"}}`))
		if len(problems) != 0 || len(set.Servers()) != 2 {
			t.Fatal(set, problems)
		}
	}},
}

func hidesGlobal(t *testing.T, b *bed, set Set) {
	t.Helper()
	if len(set.Servers())+len(set.Merged())+len(set.View(b.root)) != 0 {
		t.Fatal("the global entry came to life:", set.Servers())
	}
	all := set.All()
	if len(all) != 2 || !all[1].Hidden || all[1].ShadowedBy.Path != b.workspaceFile || len(all[0].Shadows) != 1 || all[0].Shadows[0].Path != b.globFile {
		t.Fatal("who hides whom is not known:", all)
	}
	if s, found := set.Lookup("a"); !found || !strings.HasSuffix(s.Source.Path, WorkspaceFile) {
		t.Fatal(s)
	}
}
