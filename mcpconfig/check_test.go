package mcpconfig

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestCheckReport(t *testing.T) {
	b := newBed(t)
	b.write(b.globFile, `{
  "mcpServers": {
    "db": {"command": "global"},
    "web": {"type": "http", "url": "https://user:${Y:-secretDefault}@h/${T}/mcp?key=secretKey#part", "headers": {"B": "secretB", "A": "${T}"}}
  }
}`)
	b.write(b.workspaceFile, `{
  "mcpServers": {
    "db": {"command": "${TOOL:-./bin/secretDefault} x", "args": ["secretArg", "2"], "env": {"TOKEN": "secretToken", "A": null}},
    "old": {"url": "http://localhost:1/sse", "disabled": true},
    "broken": {"command": ["secretCommand"], "url": "https://secretUrl"}
  }
}`)
	report := Check([]string{b.workspaceFile}, Options{GlobalDir: b.globalDir, HomeDir: b.home, Getenv: b.options.Getenv})
	encoded, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(encoded, []byte("secret")) || bytes.Contains(encoded, []byte("tok")) {
		t.Errorf("a value is shown:\n%s", encoded)
	}
	got := strings.ReplaceAll(strings.ReplaceAll(string(encoded), b.root, "ROOT"), b.globalDir, "GLOBAL") + "\n"
	golden := filepath.Join("testdata", "report.golden")
	if *update {
		b.write(golden, got)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the report has changed; -update writes it anew:\n%s", got)
	}
	if report.OK(false) || report.OK(true) {
		t.Error("a report with errors is OK")
	}
}

func TestCheckVerdict(t *testing.T) {
	b := newBed(t)
	check := func(text string) Report {
		b.write(b.workspaceFile, text)
		return Check([]string{b.workspaceFile}, Options{HomeDir: b.home, Getenv: b.options.Getenv})
	}
	if r := check(fields(`"command":"x"`)); !r.OK(true) || len(r.Servers) != 1 || r.Problems == nil {
		t.Error(r)
	}
	if r := check(fields(`"command":"x","headersHelper":"y"`)); !r.OK(false) || r.OK(true) {
		t.Error(r)
	}
	if r := check(fields(``)); r.OK(false) {
		t.Error(r)
	}
}

func TestCheckFiles(t *testing.T) {
	b := newBed(t)
	other := filepath.Join(b.home, "any name.json")
	b.write(other, fields(`"command":"./x","args":["${workspaceFolder}"]`))
	b.write(b.globFile, entries(`"g":{"command":"x"}`))
	report := Check([]string{other, b.globFile}, Options{GlobalDir: b.globalDir, HomeDir: b.home})
	if len(report.Problems) != 0 || len(report.Sources) != 2 || report.Sources[1].Scope != ScopeGlobal {
		t.Fatal(report)
	}
	missing := filepath.Join(b.root, "missing.json")
	report = Check([]string{missing}, Options{})
	if len(report.Problems) != 1 || report.Problems[0].Path != missing || report.OK(false) {
		t.Fatal(report)
	}
	mustHave(t, report.Problems[0].Message, "there is no such file")
	encoded, err := json.Marshal(report)
	if err != nil || !strings.HasPrefix(string(encoded), `{"version":1,"sources":[],"servers":[],"problems":[{"severity":"error","path":`) {
		t.Fatal(string(encoded), err)
	}
}

func TestMaskedURL(t *testing.T) {
	for url, want := range map[string]string{
		"https://h/mcp": "https://h/mcp", "https://u:p@h:1/mcp?x=y#z": "https://***@h:1/mcp?***", "https://u@v@h/": "https://***@h/",
		"https://h#z": "https://h", "https://h/@x": "https://h/@x", "${BASE}/mcp?x=y": "${BASE}/mcp?***", "${A}u:p@h/": "***@h/", "": "",
	} {
		if got := maskedURL(url); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}

func TestProblemString(t *testing.T) {
	p := Problem{Severity: SeverityError, Path: "/a/.mcp.json", Line: 3, Column: 7, Server: "x y", Field: "env.A", Message: "what to do"}
	if got, want := p.String(), `/a/.mcp.json:3:7: error: server "x y": env.A: what to do`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	p = Problem{Severity: SeverityWarning, Path: "/a\n\x1b[31m/b", Server: "\x1b]0;x\a", Field: "\u202e", Message: "m"}
	if got := p.String(); strings.ContainsAny(got, "\n\x1b\a\u202e") {
		t.Errorf("steers a terminal: %q", got)
	}
	if got := (Problem{Severity: SeverityError, Server: "x", Message: "m"}).String(); got != `error: server "x": m` {
		t.Error(got)
	}
}
