package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"github.com/traposd/traposd/mcp"
)

func parseFilters(t *testing.T, text string) (filters, string) {
	t.Helper()
	value, err := hujson.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	f, problems := readFilters("traposd.json", []byte(text), value)
	return f, problems.String()
}

// filterViews are two workspaces that share a server, and have one each.
func filterViews() views {
	return views{
		names: map[string]string{"1": "github", "2": "db", "3": "shared"},
		paths: map[string]view{},
		workspaces: []workspaceView{
			{name: "web", path: "/w/web", ids: map[string]bool{"1": true, "3": true}},
			{name: "api", path: "/w/api", ids: map[string]bool{"2": true, "3": true}},
		},
	}
}

// lensOf is what a client of that name looks through.
func lensOf(lenses []mcp.Lens, client string) mcp.Lens {
	for _, l := range lenses {
		if l.Client == nil || l.Client(client) {
			return l
		}
	}
	return mcp.Lens{Hidden: func(string, string) string { return "" }}
}

func TestFiltersHide(t *testing.T) {
	for _, row := range []struct {
		name, filters, path, client, tool string // <server id>/<tool>
		by                                string // "": shown
	}{
		{"nothing said", `{}`, "/mcp", "", "1/get", ""},
		{"allowed", `{"servers":{"github":{"allow":["get_*","list"]}}}`, "/mcp", "", "1/get_issue", ""},
		{"not allowed", `{"servers":{"github":{"allow":["get_*","list"]}}}`, "/mcp", "", "1/listing", "filters.servers.github.allow (traposd.json:1:23)"},
		{"another server", `{"servers":{"github":{"allow":["get_*"]}}}`, "/mcp", "", "2/drop", ""},
		{"denied", `{"servers":{"github":{"deny":["*delete*"]}}}`, "/mcp", "", "1/branch_delete", "filters.servers.github.deny (traposd.json:1:23)"},
		{"deny wins", `{"servers":{"github":{"allow":["*"],"deny":["x"]}}}`, "/mcp", "", "1/x", "filters.servers.github.deny (traposd.json:1:37)"},
		{"nothing allowed", `{"servers":{"github":{"allow":[]}}}`, "/mcp", "", "1/x", "filters.servers.github.allow (traposd.json:1:23)"},
		{"off", `{"servers":{"git*":false}}`, "/mcp", "", "1/x", `filters.servers.git* (traposd.json:1:13)`},
		{"the exact name before a pattern", `{"servers":{"*":false,"github":{}}}`, "/mcp", "", "1/x", ""},
		{"the first pattern", `{"servers":{"g*":true,"*":false}}`, "/mcp", "", "1/x", ""},
		{"the rest of patterns", `{"servers":{"g*":true,"*":false}}`, "/mcp", "", "2/x", "filters.servers.* (traposd.json:1:23)"},
		{"a server's filter is none of computers", `{"servers":{"*":false}}`, "/mcp", "", "c/exec-lua", ""},
		{"computers", `{"computers":{"deny":["exec-*"]}}`, "/mcp", "", "c/exec-lua", "filters.computers.deny (traposd.json:1:15)"},
		{"for a client", `{"clients":{"claude-*":{"servers":{"github":false}}}}`, "/mcp", "claude-code", "1/x", `filters.clients.claude-*.servers.github (traposd.json:1:36)`},
		{"for another client", `{"clients":{"claude-*":{"servers":{"github":false}}}}`, "/mcp", "cursor", "1/x", ""},
		{"the exact client", `{"clients":{"*":{"servers":{"github":false}},"cursor":{}}}`, "/mcp", "cursor", "1/x", ""},
		{"for everyone and a client", `{"servers":{"github":{"deny":["x"]}},"clients":{"cursor":{}}}`, "/mcp", "cursor", "1/x", "filters.servers.github.deny (traposd.json:1:23)"},
		{"in a workspace", `{"workspaces":{"web":{"servers":{"shared":false}}}}`, "/mcp/w/web", "", "3/x", "filters.workspaces.web.servers.shared (traposd.json:1:34)"},
		{"in another workspace", `{"workspaces":{"web":{"servers":{"shared":false}}}}`, "/mcp/w/api", "", "3/x", ""},
		{"one of all shows it", `{"workspaces":{"web":{"servers":{"shared":false}}}}`, "/mcp", "", "3/x", ""},
		{"the only one that has it", `{"workspaces":{"web":{"servers":{"*":false}}}}`, "/mcp", "", "1/x", "filters.workspaces.web.servers.* (traposd.json:1:34)"},
		{"its own view too", `{"workspaces":{"web":{"servers":{"*":false}}}}`, "/mcp/s/github", "", "1/x", "filters.workspaces.web.servers.* (traposd.json:1:34)"},
		{"all hide it", `{"workspaces":{"web":{"servers":{"shared":false}},"/w/api/":{"servers":{"shared":{"deny":["x"]}}}}}`, "/mcp", "", "3/x", "filters.workspaces.web.servers.shared (traposd.json:1:34)"},
		{"by its path", `{"workspaces":{"/w/api":{"servers":{"shared":false}}}}`, "/mcp/w/api", "", "3/x", `filters.workspaces["/w/api"].servers.shared (traposd.json:1:37)`},
		{"computers of a workspace", `{"workspaces":{"web":{"computers":false}}}`, "/mcp/w/web", "", "c/x", "filters.workspaces.web.computers (traposd.json:1:23)"},
		{"computers of all", `{"workspaces":{"web":{"computers":false}}}`, "/mcp", "", "c/x", ""},
	} {
		f, problems := parseFilters(t, row.filters)
		if problems != "" {
			t.Errorf("%s: %s", row.name, problems)
		}
		server, tool, _ := strings.Cut(row.tool, "/")
		if got := lensOf(f.lenses(filterViews(), row.path), row.client).Hidden(server, tool); got != row.by {
			t.Errorf("%s: hidden by %q, want %q", row.name, got, row.by)
		}
	}
	closed := closedFilters("/etc/traposd/traposd.json")
	if by := lensOf(closed.lenses(filterViews(), "/mcp"), "").Hidden("c", "exec-lua"); !strings.Contains(by, "cannot be read") {
		t.Errorf("what cannot be read hides by %q", by)
	}
	// A lens is looked through when other filters may already have taken the place of its own.
	replaced, _ := parseFilters(t, `{"servers":{"github":false}}`)
	old := lensOf(replaced.lenses(filterViews(), "/mcp"), "")
	replaced = filters{}
	if by := old.Hidden("1", "x"); by == "" || !replaced.empty() {
		t.Error("a lens forgets its filters when others replace them")
	}
	var none filters
	if lenses := none.lenses(filterViews(), "/mcp"); lenses != nil {
		t.Errorf("no filters make %d lenses", len(lenses))
	}
}

func TestFiltersChooseTheMode(t *testing.T) {
	for _, row := range []struct {
		filters, path, client string
		compact               bool
	}{
		{`{"servers":{"x":true}}`, "/mcp", "", false},
		{`{"compact":true}`, "/mcp", "", true},
		{`{"compact":true,"clients":{"a":{"compact":false}}}`, "/mcp", "a", false},
		{`{"compact":true,"clients":{"a":{"compact":false}}}`, "/mcp", "b", true},
		{`{"workspaces":{"web":{"compact":true}}}`, "/mcp/w/web", "", true},
		{`{"workspaces":{"web":{"compact":true}}}`, "/mcp/w/api", "", false},
		{`{"workspaces":{"web":{"compact":true}}}`, "/mcp", "", false},
		{`{"workspaces":{"web":{"compact":true},"api":{"compact":true}}}`, "/mcp", "", true},
		{`{"compact":true,"workspaces":{"web":{"compact":true},"api":{"compact":false}}}`, "/mcp", "", true},
		{`{"compact":true,"workspaces":{"web":{"compact":false},"api":{"compact":false}}}`, "/mcp", "", false},
	} {
		f, problems := parseFilters(t, row.filters)
		if got := lensOf(f.lenses(filterViews(), row.path), row.client).Compact; problems != "" || got != row.compact {
			t.Errorf("%s at %s for %q: %v %s", row.filters, row.path, row.client, got, problems)
		}
	}
}

func TestFiltersThatAreWrong(t *testing.T) {
	many := `{"servers":{` + strings.Repeat(`"a":true,`, 300) + `}}`
	for _, row := range []struct{ text, problem string }{
		{`7`, "traposd.json:1:1: error: filters: must be an object"},
		{"{\n \"server\": {}}", "traposd.json:2:2: error: filters.server: is no key of a filter"},
		{`{"compact":"canary"}`, "traposd.json:1:12: error: filters.compact: must be true or false"},
		{`{"servers":{"a":"canary"}}`, "traposd.json:1:13: error: filters.servers.a: must be an object"},
		{`{"servers":{"a":{"dney":["canary"]}}}`, "traposd.json:1:18: error: filters.servers.a.dney: is no key of a filter"},
		{`{"servers":{"a":{"deny":"canary"}}}`, "traposd.json:1:25: error: filters.servers.a.deny: must be an array"},
		{`{"servers":{"a":{"deny":["canary",7]}}}`, "traposd.json:1:35: error: filters.servers.a.deny: must be an array"},
		{`{"servers":{"a":{"deny":[""]}}}`, "traposd.json:1:26: error: filters.servers.a.deny: must be an array"},
		{`{"servers":{"a":{},"a":{}}}`, "traposd.json:1:20: error: filters.servers.a: is given twice"},
		{`{"servers":{"":{}}}`, `traposd.json:1:13: error: filters.servers[""]: a key must have 1 to 256 bytes`},
		{many, "has 300 keys; the limit is 256"},
		{`{"servers":{"a":{"deny":["` + strings.Repeat("x", 300) + `"]}}}`, "may have at most 256 patterns of 256 bytes"},
		{`{"workspaces":[]}`, "traposd.json:1:15: error: filters.workspaces: must be an object: each key is a workspace's name or its absolute path"},
		{`{"workspaces":{"w":{"clients":{}}}}`, "traposd.json:1:21: error: filters.workspaces.w.clients: is no key of a filter: it has compact, computers and servers"},
		{"{\"clients\":{\"a\x1b\":7}}", `filters.clients["a\x1b"]: must be an object`},
	} {
		value, err := hujson.Parse([]byte(row.text))
		if err != nil { // a raw control character is no JSON
			value, err = hujson.Parse([]byte(strings.ReplaceAll(row.text, "\x1b", `\u001b`)))
		}
		if err != nil {
			t.Fatal(err)
		}
		_, problems := readFilters("traposd.json", []byte(row.text), value)
		if got := problems.String(); !strings.Contains(got, row.problem) || strings.Contains(got, "canary") {
			t.Errorf("%.60s:\n got %s\nwant %s", row.text, got, row.problem)
		}
	}
}

// Filters of traposd.json are applied live, a broken edit keeps the last good ones, and what is hidden cannot be called.
func TestFiltersAreAppliedLive(t *testing.T) {
	settings := testSettings(t)
	r := start(t, settings, demoEntries(t, "dice", "words"))
	r.awaitReady("dice")
	r.awaitReady("words")
	path := filepath.Join(settings.ConfigDir, ownFileName)
	if err := os.MkdirAll(settings.ConfigDir, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shows := func(want string) func() bool {
		return func() bool { return slices.Equal(r.toolsAt("/mcp"), strings.Fields(want)) }
	}
	await(t, "all", func() bool { return len(r.toolsAt("/mcp")) > 2 })
	write(`{"filters": {"servers": {"dice": false}, "computers": false}}`)
	await(t, "what is left", shows("words__count"))
	if _, err := r.call("dice__roll", `{"sides":2}`); err == nil || !strings.Contains(err.Error(), "filters.servers.dice (traposd.json:1:26)") {
		t.Errorf("a hidden tool is answered with %v", err)
	}
	write(`{"filters": {"servers": {"dice": {"deny": "all"}}}}`)
	await(t, "the problem", func() bool {
		p := r.serversReport().Problems
		return len(p) == 1 && p[0].KeptLastGood && p[0].Field == "filters.servers.dice.deny"
	})
	if !shows("words__count")() {
		t.Errorf("a broken edit shows %q", r.toolsAt("/mcp"))
	}
	write(`{"filters": {"compact": true, "servers": {"dcie": false}}}`)
	await(t, "compact mode", shows("call-tool find-tools"))
	await(t, "the warning", func() bool {
		p := r.serversReport().Problems
		return len(p) == 1 && p[0].Severity == "warning" && p[0].Field == "filters.servers.dcie"
	})
	if result, err := r.call("call-tool", `{"name":"dice__roll","arguments":{"sides":2}}`); err != nil || strings.Contains(result, "isError\":true") {
		t.Errorf("called through call-tool: %s %v", result, err)
	}
	write(`{}`)
	await(t, "all again", func() bool { return len(r.toolsAt("/mcp")) > 2 })
}

// When the filters are broken at a start, there is no last good version: nothing is shown until they are mended.
func TestFiltersThatAreBrokenAtTheStartHideEverything(t *testing.T) {
	for name, text := range map[string]string{"a filter": `{"filters": {"servers": []}}`, "the file": `{"filters": {`} {
		t.Run(name, func(t *testing.T) {
			settings := testSettings(t)
			path := filepath.Join(settings.ConfigDir, ownFileName)
			if err := os.MkdirAll(settings.ConfigDir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			r := start(t, settings, demoEntries(t, "dice"))
			r.awaitReady("dice")
			if got := r.toolsAt("/mcp"); len(got) != 0 {
				t.Errorf("shown: %q", got)
			}
			if _, err := r.call("dice__roll", `{}`); err == nil || !strings.Contains(err.Error(), "cannot be read") {
				t.Errorf("a tool is answered with %v", err)
			}
			if !slices.ContainsFunc(r.serversReport().Problems, func(p ProblemReport) bool { return strings.Contains(p.Message, "every tool is hidden") }) {
				t.Errorf("the problems are %v", r.serversReport().Problems)
			}
			if err := os.WriteFile(path, []byte(`{"filters": {}}`), 0o600); err != nil {
				t.Fatal(err)
			}
			await(t, "the tools", func() bool { return slices.Contains(r.toolsAt("/mcp"), "dice__roll") })
		})
	}
}
