package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const listenerURL = "http://127.0.0.1:4445/mcp"

func TestConnectMakesTheFile(t *testing.T) {
	for name, want := range map[string]string{
		"claude":   "{\n  \"mcpServers\": {\n    \"traposd\": {\n      \"type\": \"http\",\n      \"url\": \"" + listenerURL + "\"\n    }\n  }\n}\n",
		"cursor":   "{\n  \"mcpServers\": {\n    \"traposd\": {\n      \"url\": \"" + listenerURL + "\"\n    }\n  }\n}\n",
		"vscode":   "{\n  \"servers\": {\n    \"traposd\": {\n      \"type\": \"http\",\n      \"url\": \"" + listenerURL + "\"\n    }\n  }\n}\n",
		"gemini":   "{\n  \"mcpServers\": {\n    \"traposd\": {\n      \"httpUrl\": \"" + listenerURL + "\"\n    }\n  }\n}\n",
		"codex":    "[mcp_servers.traposd]\nurl = '" + listenerURL + "'\n",
		"opencode": "{\n  \"mcp\": {\n    \"traposd\": {\n      \"type\": \"remote\",\n      \"url\": \"" + listenerURL + "\"\n    }\n  }\n}\n",
	} {
		c := Find(name)
		path := c.Path(Places{Home: t.TempDir(), Config: t.TempDir(), Getenv: func(string) string { return "" }})
		if outcome, err := c.Connect(path, listenerURL, false); outcome != Added || err != nil {
			t.Errorf("%s: %v %v", name, outcome, err)
		}
		if got := read(t, path); got != want {
			t.Errorf("%s:\n%s", name, got)
		}
		if string(c.Snippet(listenerURL, false)) != want {
			t.Errorf("%s: the snippet differs from the file", name)
		}
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
		if outcome, err := c.Connect(path, listenerURL, false); outcome != Already || err != nil {
			t.Errorf("%s again: %v %v", name, outcome, err)
		}
		if outcome, err := c.Connect(path, listenerURL+"/s/x", false); outcome != Replaced || err != nil {
			t.Errorf("%s with another url: %v %v", name, outcome, err)
		}
	}
	if len(All()) != 6 || Find("nobody") != nil {
		t.Error("the list of clients is not what is tested")
	}
}

// The token never stands in a client's file.
func TestTheTokenIsReferredTo(t *testing.T) {
	for _, c := range All() {
		if text := string(c.Snippet(listenerURL, true)); !strings.Contains(text, TokenVariable) {
			t.Errorf("%s: %s", c.Name, text)
		}
	}
}

func TestConnectKeepsTheRest(t *testing.T) {
	for name, row := range map[string]struct{ client, before, after string }{
		"comments, tabs, a trailing comma": {
			"vscode",
			"// mine\n{\n\t\"servers\": {\n\t\t\"a\": {\"command\": \"x\"}, // first\n\t},\n\t\"inputs\": [],\n}\n",
			"// mine\n{\n\t\"servers\": {\n\t\t\"a\": {\"command\": \"x\"}, // first\n\t\t\"traposd\": {\n\t\t\t\"type\": \"http\",\n\t\t\t\"url\": \"" + listenerURL + "\"\n\t\t},\n\t},\n\t\"inputs\": [],\n}\n",
		},
		"no list yet": {
			"gemini",
			"{\n    \"theme\": \"x\"\n}",
			"{\n    \"theme\": \"x\",\n    \"mcpServers\": {\n        \"traposd\": {\n            \"httpUrl\": \"" + listenerURL + "\"\n        }\n    }\n}",
		},
		"on one line, with a number that no float holds": {
			"cursor",
			`{"n":12345678901234567890,"mcpServers":{"a":{"url":"u"}}}`,
			"{\"n\":12345678901234567890,\"mcpServers\":{\"a\":{\"url\":\"u\"},\n    \"traposd\": {\n      \"url\": \"" + listenerURL + "\"\n    }\n  }}",
		},
		"a comment behind the last": {
			"cursor",
			"{\n  \"mcpServers\": {\n    \"a\": {}\n    // end\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    \"a\": {},\n    // end\n    \"traposd\": {\n      \"url\": \"" + listenerURL + "\"\n    }\n  }\n}\n",
		},
		"line ends of Windows, and a mark": {
			"cursor",
			"\ufeff{\r\n  \"mcpServers\": {}\r\n}\r\n",
			"\ufeff{\r\n  \"mcpServers\": {\r\n    \"traposd\": {\r\n      \"url\": \"" + listenerURL + "\"\r\n    }\r\n  }\r\n}\r\n",
		},
		"another entry of our name": {
			"claude",
			"{\n  \"mcpServers\": {\n    \"traposd\": {\"type\": \"sse\", \"url\": \"old\"},\n    \"b\": {}\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    \"traposd\": {\n      \"type\": \"http\",\n      \"url\": \"" + listenerURL + "\"\n    },\n    \"b\": {}\n  }\n}\n",
		},
		"opencode's second version": {
			"opencode",
			"{\n  \"mcp\": {\n    \"servers\": {}\n  }\n}\n",
			"{\n  \"mcp\": {\n    \"servers\": {\n      \"traposd\": {\n        \"type\": \"remote\",\n        \"url\": \"" + listenerURL + "\"\n      }\n    }\n  }\n}\n",
		},
		"TOML with comments": {
			"codex",
			"# mine\nmodel = \"x\"\n\n[mcp_servers.a] # first\ncommand = \"x\"\n\n",
			"# mine\nmodel = \"x\"\n\n[mcp_servers.a] # first\ncommand = \"x\"\n\n[mcp_servers.traposd]\nurl = '" + listenerURL + "'\n",
		},
		"TOML with a table of our name": {
			"codex",
			"[mcp_servers.traposd] # ours\nurl = \"old\"\n\n# about a\n[mcp_servers.a]\ncommand = \"x\"\n",
			"[mcp_servers.traposd] # ours\nurl = '" + listenerURL + "'\n\n# about a\n[mcp_servers.a]\ncommand = \"x\"\n",
		},
	} {
		path := filepath.Join(t.TempDir(), "file")
		write(t, path, row.before)
		if _, err := Find(row.client).Connect(path, listenerURL, false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := read(t, path); got != row.after {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, row.after)
		}
	}
}

func TestConnectLeavesAloneWhatItCannotRead(t *testing.T) {
	for name, row := range map[string]struct{ client, before, want string }{
		"broken JSON":            {"cursor", "{\n  \"canary\": \n}", "line 3"},
		"no object":              {"cursor", `["canary"]`, "no JSON object"},
		"a list of another kind": {"cursor", `{"mcpServers": ["canary"]}`, `"mcpServers" is not an object`},
		"two lists":              {"cursor", `{"mcpServers": {}, "mcp\u0053ervers": {"canary": {}}}`, `"mcpServers" twice`},
		"two of ours":            {"cursor", `{"mcpServers": {"traposd": {}, "traposd": {"url": "canary"}}}`, `"traposd" twice`},
		"broken TOML":            {"codex", "a = 1\ncanary", "line 2"},
		"a table in one line":    {"codex", "mcp_servers = {a = {command = \"canary\"}}\n", "--print"},
		"ours in one line":       {"codex", "[mcp_servers]\ntraposd = {url = \"canary\"}\n", "--print"},
	} {
		path := filepath.Join(t.TempDir(), "file")
		write(t, path, row.before)
		_, err := Find(row.client).Connect(path, listenerURL, false)
		if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
		if got := read(t, path); got != row.before {
			t.Errorf("%s: the file is\n%s", name, got)
		}
	}
	if _, err := Find("cursor").Connect(t.TempDir(), listenerURL, false); err == nil {
		t.Error("a folder is taken for a file")
	}
}

func TestConnectFollowsALink(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // links need a right there that users do not have
	}
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	write(t, target, "{}")
	if err := os.Chmod(target, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Find("cursor").Connect(link, listenerURL, false); err != nil {
		t.Fatal(err)
	}
	stays := func() {
		if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("the link is %v, %v", info, err)
		}
	}
	stays()
	if !strings.Contains(read(t, target), listenerURL) {
		t.Error("the file that the link names has no entry")
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v %v", info, err)
	}
	if err := os.Remove(target); err != nil {
		t.Fatal(err)
	}
	if _, err := Find("cursor").Connect(link, listenerURL, false); err == nil || !strings.Contains(err.Error(), "leads to no file") {
		t.Errorf("through a link to nothing: %v", err)
	}
	stays()
}

// Whatever stands in a file, all of it but our entry is there afterwards.
func TestConnectLosesNothing(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		servers := rapid.MapOf(rapid.StringMatching(`[a-z"\\é]{1,5}`), rapid.String()).Draw(t, "servers")
		other := rapid.MapOf(rapid.StringMatching(`[a-z]{1,5}`), rapid.Int()).Draw(t, "other")
		file := map[string]any{"mcpServers": servers}
		for key, value := range other {
			file["_"+key] = value
		}
		text, err := json.Marshal(file)
		if rapid.Bool().Draw(t, "indented") {
			text, err = json.MarshalIndent(file, "", rapid.SampledFrom([]string{"  ", "\t", ""}).Draw(t, "indent"))
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "file")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Find("cursor").Connect(path, listenerURL, true); err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(after, &got); err != nil {
			t.Fatalf("%s: %v", after, err)
		}
		list, _ := got["mcpServers"].(map[string]any)
		if list["traposd"] == nil || len(list) != len(servers)+1 || len(got) != len(file) {
			t.Fatalf("%s became %s", text, after)
		}
	})
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
