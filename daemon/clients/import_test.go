package clients

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/traposd/traposd/mcpconfig"
)

// importRows are files as their programs write them, what comes of them, and parts of the notes.
var importRows = map[string]struct {
	file, text string
	want       string // the servers, as one JSON object
	notes      []string
}{
	"Claude Desktop": {
		"claude_desktop_config.json",
		`{"mcpServers": {"files": {"command": "npx", "args": ["-y", "server", "/a b"], "env": {"K": "v<&>"}}}, "globalShortcut": ""}`,
		`{"files": {"command": "npx", "args": ["-y", "server", "/a b"], "env": {"K": "v<&>"}}}`,
		nil,
	},
	"Claude Code": {
		".claude.json",
		`{"projects": {}, "mcpServers": {"web": {"type": "http", "url": "https://a.example/mcp", "headers": {"Authorization": "Bearer ${T}"}}, "here": {"type": "stdio", "command": "x", "env": {}}}}`,
		`{"web": {"type": "http", "url": "https://a.example/mcp", "headers": {"Authorization": "Bearer ${T}"}}, "here": {"command": "x"}}`,
		[]string{"projects"},
	},
	"VS Code with inputs and comments": {
		"mcp.json",
		`{ // mine
		"inputs": [{"id": "api-key", "type": "promptString"}],
		"servers": {"a": {"type": "stdio", "command": "x", "envFile": "${workspaceFolder}/.env", "env": {"K": "${input:api-key}", "L": "${env:L}"}, "dev": {}},}}`,
		`{"a": {"command": "x", "envFile": "${workspaceFolder}/.env", "env": {"K": "${API_KEY}", "L": "${L}"}}}`,
		[]string{"inputs ask a person", "an input became ${API_KEY}", "dev is not carried over"},
	},
	"VS Code's settings": {
		"settings.json", `{"mcp": {"servers": {"a": {"url": "http://127.0.0.1:1/"}}}}`, `{"a": {"type": "http", "url": "http://127.0.0.1:1/"}}`, nil,
	},
	"Cursor": {
		"mcp.json", `{"mcpServers": {"a": {"url": "https://a.example/sse", "headers": {"K": "${env:K}"}}, "b": {"command": "${userHome}/b"}}}`,
		`{"a": {"type": "http", "url": "https://a.example/sse", "headers": {"K": "${K}"}}, "b": {"command": "${HOME}/b"}}`,
		[]string{"does not say its transport"},
	},
	"Windsurf": {
		"mcp_config.json", `{"mcpServers": {"a": {"serverUrl": "https://a.example/mcp", "disabled": true, "alwaysAllow": ["x"]}}}`,
		`{"a": {"type": "http", "url": "https://a.example/mcp", "disabled": true}}`,
		[]string{"does not say its transport", "alwaysAllow is not carried over"},
	},
	"Gemini": {
		"settings.json", `{"mcpServers": {"a": {"httpUrl": "https://a.example/mcp", "headers": {"Authorization": "Bearer $TOKEN"}, "timeout": 60000, "trust": true}, "b": {"command": "x", "env": {"K": "$K", "P": "a$b"}}}}`,
		`{"a": {"type": "http", "url": "https://a.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}, "timeout": 60000}, "b": {"command": "x", "env": {"K": "${K}", "P": "a$b"}}}`,
		[]string{"trust is not carried over"},
	},
	"Cline": {
		"cline_mcp_settings.json", `{"mcpServers": {"a": {"type": "streamableHttp", "url": "https://a.example/", "timeout": 60, "autoApprove": []}}}`,
		`{"a": {"type": "http", "url": "https://a.example/", "timeout": 60000}}`,
		[]string{"autoApprove"},
	},
	"opencode": {
		"opencode.json", `{"mcp": {"a": {"type": "local", "command": ["npx", "-y", "x"], "environment": {"K": "{env:K}"}, "enabled": false}, "b": {"type": "remote", "url": "https://b.example/", "oauth": {}}}}`,
		`{"a": {"command": "npx", "args": ["-y", "x"], "env": {"K": "${K}"}, "disabled": true}, "b": {"type": "http", "url": "https://b.example/"}}`,
		[]string{"oauth is not carried over"},
	},
	"opencode, second version": {
		"opencode.jsonc", `{"mcp": {"servers": {"a": {"type": "local", "command": ["x"], "disabled": true, "timeout": {"startup": 1000, "request": 2000}}}}}`,
		`{"a": {"command": "x", "startupTimeout": 1000, "timeout": 2000, "disabled": true}}`, nil,
	},
	"Codex": {
		"config.toml",
		"model = \"m\"\n[mcp_servers.b]\nurl = \"https://b.example/\"\nbearer_token_env_var = \"T\"\nenv_http_headers = {\"X-K\" = \"K\"}\ntool_timeout_sec = 60\n" +
			"[mcp_servers.a]\ncommand = \"npx\"\nargs = [\"-y\"]\nenv_vars = [\"HOME_TOKEN\"]\nstartup_timeout_sec = 1.5\nenabled = false\n[mcp_servers.a.env]\nK = \"v\"\n",
		`{"a": {"command": "npx", "args": ["-y"], "env": {"K": "v", "HOME_TOKEN": "${HOME_TOKEN}"}, "startupTimeout": 1500, "disabled": true},
		"b": {"type": "http", "url": "https://b.example/", "headers": {"Authorization": "Bearer ${T}", "X-K": "${K}"}, "timeout": 60000}}`, nil,
	},
	"Zed": {
		"settings.json", `{"context_servers": {"a": {"source": "custom", "command": {"path": "x", "args": ["1"], "env": null}}}}`,
		`{"a": {"command": "x", "args": ["1"]}}`, nil,
	},
	"what is no server, or ours, or badly named": {
		"mcp.json", `{"mcpServers": {"a": 1, "b": {}, "traposd": {"url": "http://127.0.0.1:4445/mcp", "type": "http"}, " c__d ": {"command": "x", "args": [true, 2], "url": "https://a.example/"}, "e": {"command": "x", "args": "y", "env": {"N": {}}}}}`,
		`{"c_d": {"command": "x", "args": ["true", "2"]}, "e": {"command": "x"}}`,
		[]string{"it is not an object", "neither a command nor a url", "it is our own listener", "it is c_d now", "the url is left out", "args is not carried over", "a value that is no text"},
	},
}

func TestImport(t *testing.T) {
	for name, row := range importRows {
		path := filepath.Join(t.TempDir(), row.file)
		write(t, path, row.text)
		var im Imported
		if err := im.Import(path); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got, want struct {
			MCPServers map[string]any `json:"mcpServers"`
		}
		if err := json.Unmarshal(im.File(), &got); err != nil {
			t.Fatalf("%s: %s: %v", name, im.File(), err)
		}
		if err := json.Unmarshal([]byte(`{"mcpServers":`+row.want+`}`), &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) || im.Len() != len(want.MCPServers) {
			t.Errorf("%s:\n%s", name, im.File())
		}
		said := ""
		for _, n := range im.Notes {
			said += n.Server + ": " + n.Message + "\n"
		}
		for _, part := range row.notes {
			if !strings.Contains(said, part) {
				t.Errorf("%s: no note says %q:\n%s", name, part, said)
			}
		}
		if len(im.Notes) != len(row.notes) {
			t.Errorf("%s: %d notes:\n%s", name, len(im.Notes), said)
		}
	}
}

// What is printed is a file that we read without a complaint.
func TestWhatIsImportedIsValid(t *testing.T) {
	for name, row := range importRows {
		dir := t.TempDir()
		write(t, filepath.Join(dir, row.file), row.text)
		var im Imported
		if err := im.Import(filepath.Join(dir, row.file)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, mcpconfig.WorkspaceFile)
		write(t, path, string(im.File()))
		write(t, filepath.Join(dir, ".env"), "")
		report := mcpconfig.Check([]string{path}, mcpconfig.Options{HomeDir: dir, Getenv: func(string) (string, bool) { return "v", true }})
		if len(report.Problems) > 0 {
			t.Errorf("%s: %v\n%s", name, report.Problems, im.File())
		}
	}
}

func TestTheFirstOfANameIsKept(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "one.json"), `{"mcpServers": {"z": {"command": "1"}, "a": {"command": "1"}}}`)
	write(t, filepath.Join(dir, "two.json"), `{"mcpServers": {"a": {"command": "2"}, "b": {"command": "2"}}}`)
	var im Imported
	for _, file := range []string{"one.json", "two.json"} {
		if err := im.Import(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	want := "{\n  \"mcpServers\": {\n    \"z\": {\n      \"command\": \"1\"\n    },\n    \"a\": {\n      \"command\": \"1\"\n    },\n    \"b\": {\n      \"command\": \"2\"\n    }\n  }\n}\n"
	if got := string(im.File()); got != want {
		t.Errorf("%s", got)
	}
	if len(im.Notes) != 1 || im.Notes[0].Server != "a" {
		t.Errorf("%v", im.Notes)
	}
	if got := string((&Imported{}).File()); got != "{\n  \"mcpServers\": {}\n}\n" {
		t.Errorf("%s", got)
	}
}

func TestImportSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"canary\"":      "line 2",
		`["canary"]`:         "no JSON object",
		`{"canary": {}}`:     "no list of servers",
		`{"mcpServers": []}`: "no list of servers",
	} {
		path := filepath.Join(t.TempDir(), "file.json")
		write(t, path, text)
		var im Imported
		err := im.Import(path)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", text, err)
		}
	}
	var im Imported
	if err := im.Import(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "is not there") {
		t.Errorf("%v", err)
	}
}

// No note repeats a value.
func TestNotesHoldNoValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file.json")
	write(t, path, `{"inputs": ["CANARY"], "mcpServers": {"a": {"type": "CANARY", "command": {"path": ["CANARY"]}, "args": "CANARY", "url": ["CANARY"],
		"env": {"K": ["CANARY"]}, "timeout": "CANARY", "trust": "CANARY", "other": "CANARY"}, "b": {"command": "CANARY", "url": "CANARY"}}}`)
	var im Imported
	if err := im.Import(path); err != nil {
		t.Fatal(err)
	}
	if len(im.Notes) < 8 {
		t.Errorf("%v", im.Notes)
	}
	for _, n := range im.Notes {
		if strings.Contains(n.Server+n.Message, "CANARY") {
			t.Error(n)
		}
	}
}
