package clients

import (
	"os"
	"path/filepath"
	"slices"
)

// entryName is the name that our listener has in every client's file.
const entryName = "traposd"

// TokenVariable holds the listener's token in the client's environment. Entries refer to it and never hold the token: these
// files are synchronised, committed and shown.
const TokenVariable = "TRAPOS_MCP_TOKEN"

// Client is a program that keeps a list of MCP servers in a file.
type Client struct {
	Name  string // as the command line takes it
	Title string // as its makers write it
	After string // what its user does then, one sentence

	path  func(Places) string
	root  []string // the keys that lead to the list of servers
	entry func(url string, token bool) any
	toml  bool
}

// Places are the folders that the files are looked for in.
type Places struct {
	Home   string
	Config string // os.UserConfigDir: ~/.config, ~/Library/Application Support, %AppData%
	Getenv func(string) string
}

// DefaultPlaces are this user's.
func DefaultPlaces() (Places, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return Places{}, err
	}
	config, err := os.UserConfigDir()
	return Places{Home: home, Config: config, Getenv: os.Getenv}, err
}

// Path is the client's own file, of this user and for all projects.
func (c *Client) Path(p Places) string { return c.path(p) }

// All are the known clients, by name.
func All() []*Client { return slices.Clone(known) }

// Find returns the client of that name, or nil.
func Find(name string) *Client {
	if i := slices.IndexFunc(known, func(c *Client) bool { return c.Name == name }); i >= 0 {
		return known[i]
	}
	return nil
}

var known = []*Client{
	{
		Name: "claude", Title: "Claude Code", After: "`claude mcp list` shows it",
		path: func(p Places) string {
			if dir := p.Getenv("CLAUDE_CONFIG_DIR"); dir != "" {
				return filepath.Join(dir, ".claude.json")
			}
			return filepath.Join(p.Home, ".claude.json")
		},
		root: []string{"mcpServers"},
		entry: func(url string, token bool) any {
			return httpEntry{Type: "http", URL: url, Headers: bearer(token, "${"+TokenVariable+"}")}
		},
	},
	{
		Name: "cursor", Title: "Cursor", After: "Settings, MCP shows it",
		path: func(p Places) string { return filepath.Join(p.Home, ".cursor", "mcp.json") },
		root: []string{"mcpServers"},
		entry: func(url string, token bool) any {
			return httpEntry{URL: url, Headers: bearer(token, "${env:"+TokenVariable+"}")}
		},
	},
	{
		Name: "vscode", Title: "VS Code", After: "`MCP: List Servers` in the command palette shows it",
		path: func(p Places) string { return filepath.Join(p.Config, "Code", "User", "mcp.json") },
		root: []string{"servers"},
		entry: func(url string, token bool) any {
			return httpEntry{Type: "http", URL: url, Headers: bearer(token, "${env:"+TokenVariable+"}")}
		},
	},
	{
		Name: "gemini", Title: "Gemini CLI", After: "`gemini mcp list` shows it",
		path: func(p Places) string { return filepath.Join(p.Home, ".gemini", "settings.json") },
		root: []string{"mcpServers"},
		entry: func(url string, token bool) any {
			return httpEntry{HTTPURL: url, Headers: bearer(token, "$"+TokenVariable)}
		},
	},
	{
		Name: "codex", Title: "Codex", After: "`codex mcp list` shows it",
		path: func(p Places) string {
			if dir := p.Getenv("CODEX_HOME"); dir != "" {
				return filepath.Join(dir, "config.toml")
			}
			return filepath.Join(p.Home, ".codex", "config.toml")
		},
		root: []string{"mcp_servers"}, toml: true,
		entry: func(url string, token bool) any {
			e := codexEntry{URL: url}
			if token {
				e.BearerTokenEnvVar = TokenVariable
			}
			return e
		},
	},
	{
		Name: "opencode", Title: "opencode", After: "`opencode mcp list` shows it",
		path: opencodePath, root: []string{"mcp"},
		entry: func(url string, token bool) any {
			return httpEntry{Type: "remote", URL: url, Headers: bearer(token, "{env:"+TokenVariable+"}")}
		},
	},
}

// opencodePath is the file that is there, of the two names that opencode takes. It keeps to these folders on every system.
func opencodePath(p Places) string {
	dir := p.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		dir = filepath.Join(p.Home, ".config")
	}
	path := filepath.Join(dir, "opencode", "opencode.json")
	if with := path + "c"; !exists(path) && exists(with) {
		return with
	}
	return path
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// httpEntry is an entry of the clients that write JSON; which members one knows differs.
type httpEntry struct {
	Type    string            `json:"type,omitempty"`
	URL     string            `json:"url,omitempty"`
	HTTPURL string            `json:"httpUrl,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

type codexEntry struct {
	URL               string `toml:"url"`
	BearerTokenEnvVar string `toml:"bearer_token_env_var,omitempty"`
}

func bearer(token bool, reference string) map[string]string {
	if !token {
		return nil
	}
	return map[string]string{"Authorization": "Bearer " + reference}
}
