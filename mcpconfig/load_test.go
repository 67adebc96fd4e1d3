package mcpconfig

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// bed is a workspace, a global directory and a home in a temporary folder. T=tok and E= are set, Y is not.
type bed struct {
	t                       testing.TB
	root, globalDir, home   string
	workspaceFile, globFile string
	options                 Options
}

func newBed(t testing.TB) *bed {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, root: filepath.Join(top, "ws"), globalDir: filepath.Join(top, "global"), home: filepath.Join(top, "home")}
	b.workspaceFile, b.globFile = filepath.Join(b.root, WorkspaceFile), filepath.Join(b.globalDir, GlobalFile)
	for _, dir := range []string{b.root, b.globalDir, b.home} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.options = Options{
		Workspaces: []string{b.root}, GlobalDir: b.globalDir, HomeDir: b.home,
		Getenv: environment(map[string]string{"T": "tok", "E": ""}),
		Self:   []string{"127.0.0.1:4445"},
	}
	return b
}

func environment(variables map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		content, ok := variables[name]
		return content, ok
	}
}

func (b *bed) write(path, text string) {
	b.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// load puts text into the workspace's file and loads.
func (b *bed) load(text string) (Set, Problems) {
	b.t.Helper()
	b.write(b.workspaceFile, text)
	return Load(b.options)
}

// one loads text and returns its only server, which must run without an error.
func (b *bed) one(text string) (Server, Problems) {
	b.t.Helper()
	set, problems := b.load(text)
	if problems.Errors() || len(set.Servers()) != 1 {
		b.t.Fatalf("want one server and no errors, have %v\n%v", set.Servers(), problems)
	}
	return set.Servers()[0], problems
}

// lost loads text, which must be unusable as a whole, and returns the message.
func (b *bed) lost(text string) Problem {
	b.t.Helper()
	set, problems := b.load(text)
	if len(problems) != 1 || !problems[0].WholeFile() || problems[0].Severity != SeverityError {
		b.t.Fatalf("want one error of the whole file, have %v", problems)
	}
	if len(set.All()) != 0 {
		b.t.Fatalf("an unusable file gave %v", set.All())
	}
	if p := problems[0]; p.Path != b.workspaceFile || p.Line < 1 || p.Column < 1 || p.Server != "" {
		b.t.Fatalf("no proper position: %+v", p)
	}
	return problems[0]
}

// bad loads one entry in a file with a good neighbour; the entry must be invalid and the neighbour run. It returns the
// entry's errors.
func (b *bed) bad(entry string) Problems {
	b.t.Helper()
	return b.badMember(`"a":` + entry)
}

func (b *bed) badMember(member string) Problems {
	b.t.Helper()
	set, problems := b.load("{\"mcpServers\":{\n  " + member + ",\n  \"neighbour\":{\"command\":\"x\"}}}")
	if names := names(set.Servers()); !slices.Equal(names, []string{"neighbour"}) {
		b.t.Fatalf("want the neighbour alone to run, have %v\n%v", names, problems)
	}
	if len(set.All()) != 2 {
		b.t.Fatalf("the invalid entry is not listed: %v", set.All())
	}
	errs := slices.DeleteFunc(slices.Clone(problems), func(p Problem) bool { return p.Severity != SeverityError })
	if len(errs) == 0 {
		b.t.Fatal("no error")
	}
	for _, p := range problems {
		if p.Line != 2 || p.Column < 3 || p.Path != b.workspaceFile || p.Scope != ScopeWorkspace || p.WholeFile() {
			b.t.Fatalf("no proper position: %+v", p)
		}
	}
	return errs
}

func names(servers []Server) []string {
	list := []string{}
	for _, s := range servers {
		list = append(list, s.Name)
	}
	return list
}

// mustSay fails unless one of the problems is of that field and holds the words.
func mustSay(t testing.TB, problems Problems, field, words string) {
	t.Helper()
	for _, p := range problems {
		if p.Field == field && strings.Contains(p.Message, words) {
			return
		}
	}
	t.Fatalf("no problem of field %q says %q:\n%v", field, words, problems)
}

func mustHave(t testing.TB, text, words string) {
	t.Helper()
	if !strings.Contains(text, words) {
		t.Fatalf("%q is not in %q", words, text)
	}
}

// mkdir makes a folder in the workspace.
func (b *bed) mkdir(name string) {
	b.t.Helper()
	if err := os.Mkdir(filepath.Join(b.root, name), 0o755); err != nil {
		b.t.Fatal(err)
	}
}
