//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostileName is a server's name that would be an element if it were put on the page as markup.
const hostileName = `<img src=x onerror=alert('a')>`

// TestStatusPage looks at the page in Chromium, with hostile names and a failing server, in light and dark, wide and narrow.
// The pictures are left in E2E_DIR/pictures.
func TestStatusPage(t *testing.T) {
	for _, token := range []string{"", "open sesame"} {
		b := newBed(t)
		if token != "" {
			b.env = append(b.env, "TRAPOS_MCP_TOKEN="+token)
		}
		entry := func(demo string) string {
			return `{"command": "` + b.program + `", "args": ["demo-server", "` + demo + `"]}`
		}
		servers := `"dice": ` + entry("dice") + `, "words": ` + entry("words") + `, "failing": {"command": "sh", "args": ["-c", "echo '<script>x</script>' >&2; exit 3"]}`
		name, err := json.Marshal(hostileName)
		if err != nil {
			t.Fatal(err)
		}
		servers += `, ` + string(name) + `: ` + entry("dice")
		b.write(`{"mcpServers": {` + servers + `}}`)
		b.start()
		computer := b.command(b.program, "computer", "--id", "7", "--label", "<b>miner</b>", "--url", b.gateway)
		if err := computer.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = computer.Process.Kill()
			_ = computer.Wait()
		}()
		b.lookAtPage(token, func() { b.write(`{"mcpServers": {` + servers + `, "later": ` + entry("words") + `}}`) })
	}
}

// lookAtPage runs page.cjs and holds what it finds against what is wanted.
func (b *bed) lookAtPage(token string, edit func()) {
	b.t.Helper()
	pictures := filepath.Join(b.npm, "pictures")
	if err := os.MkdirAll(pictures, 0o700); err != nil {
		b.t.Fatal(err)
	}
	args := []string{"page.cjs", strings.TrimSuffix(b.url, "mcp"), pictures}
	if token != "" {
		args = append(args, token)
	}
	look := b.command(filepath.Join(b.npm, "node_modules", ".bin", "node"), args...)
	look.Env = append(look.Env, "NODE_PATH="+filepath.Join(b.npm, "node_modules"))
	var errors strings.Builder
	look.Stderr = &errors
	stdin, err := look.StdinPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	stdout, err := look.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := look.Start(); err != nil {
		b.t.Fatal(err)
	}
	found := map[string][]string{}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		var finding struct {
			What  string          `json:"what"`
			Value json.RawMessage `json:"value"`
		}
		if err := json.Unmarshal(lines.Bytes(), &finding); err != nil {
			b.t.Fatalf("%s: %v", lines.Text(), err)
		}
		found[finding.What] = append(found[finding.What], string(finding.Value))
		if finding.What == "ready" {
			edit()
			if _, err := stdin.Write([]byte("saved\n")); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	if err := look.Wait(); err != nil {
		b.t.Fatalf("%v\n%s", err, errors.String())
	}
	b.checkPage(found, token == "")
}

func (b *bed) checkPage(found map[string][]string, withKeys bool) {
	b.t.Helper()
	for what, want := range map[string]string{
		"servers":                   `["` + hostileName + `","dice","failing","words"]`,
		"computers":                 `["7:<b>miner</b>"]`,
		"elements made of names":    `0`,
		"copied":                    `"traposd restart '<img src=x onerror=alert('\\''a'\\'')>'"`,
		"announced":                 `"Copied: traposd restart '<img src=x onerror=alert('\\''a'\\'')>'"`,
		"first stop of the Tab key": `"Skip to the servers"`,
		"the skip link leads to":    `"main"`,
		"events with the filter":    `["server ready"]`,
		"wider than the window":     `0`,
		"barriers":                  `[]`,
		"faults":                    `[]`,
	} {
		if len(found[what]) == 0 && (withKeys || !strings.Contains(what, "Tab key") && !strings.Contains(what, "skip link")) {
			b.t.Errorf("nothing was found about %s", what)
		}
		for _, got := range found[what] {
			if got != want {
				b.t.Errorf("%s: %s, want %s", what, got, want)
			}
		}
	}
	b.t.Logf("an edit showed after %s ms", found["milliseconds until an edit shows"])
}
