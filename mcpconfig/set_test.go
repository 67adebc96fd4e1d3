package mcpconfig

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// commands returns name=command of each server.
func commands(servers []Server) []string {
	list := []string{}
	for _, s := range servers {
		list = append(list, s.Name+"="+s.Command.Reveal())
	}
	return list
}

func TestViewsOfSeveralWorkspaces(t *testing.T) {
	b := newBed(t)
	second := filepath.Join(filepath.Dir(b.root), "second")
	if err := os.Mkdir(second, 0o755); err != nil {
		t.Fatal(err)
	}
	b.options.Workspaces = append(b.options.Workspaces, second, second+string(filepath.Separator), "")
	b.options.Supplied = []SuppliedFile{{Path: "flag.json", Data: []byte(entries(`"s":{"command":"supplied"}`))}}
	b.write(b.globFile, entries(`"db":{"command":"global"},"g":{"command":"global"},"s":{"command":"global"},"only":{"command":"global"}`))
	b.write(filepath.Join(second, WorkspaceFile), entries(`"db":{"command":"second"},"s":{"command":"second"},"g":{"command":"x","disabled":true}`))
	set, problems := b.load(entries(`"db":{"command":"first"},"x":{"command":"first"}`))
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	for _, check := range []struct {
		what string
		got  []Server
		want string
	}{
		{"first", set.View(b.root), "s=supplied db=first x=first g=global only=global"},
		{"second", set.View(second), "s=supplied db=second only=global"},
		{"second, another spelling", set.View(second + "/."), "s=supplied db=second only=global"},
		{"elsewhere", set.View(b.home), "s=supplied g=global only=global"},
		{"merged", set.Merged(), "s=supplied db=first x=first only=global"},
		{"to run", set.Servers(), "s=supplied db=first x=first db=second g=global only=global"},
	} {
		if got := strings.Join(commands(check.got), " "); got != check.want {
			t.Errorf("%s: %s, want %s", check.what, got, check.want)
		}
	}
	s, _ := set.Lookup("db")
	if len(s.Shadows) != 2 || s.Shadows[0].Workspace != second || s.Shadows[1].Scope != ScopeGlobal {
		t.Error(s.Shadows)
	}
	for _, s := range set.All() {
		if s.Name == "db" && s.Source.Scope == ScopeGlobal && !s.Hidden {
			t.Error("the global db is in no workspace's view, and yet to run")
		}
	}
	if len(set.Sources()) != 4 || len(set.WatchPaths()) != 4 {
		t.Error(set.Sources(), set.WatchPaths())
	}
}

func TestDiff(t *testing.T) {
	b := newBed(t)
	before, _ := b.load(entries(`"same":{"command":"x"},"gone":{"command":"x"},"other":{"command":"x","args":["1"]},"off":{"command":"x"}`))
	after, _ := b.load(entries(`"other":{"command":"x","args":["2"]},"same":{"args":[],"command":"x"},"new":{"command":"x"},"off":{"command":"x","disabled":true}`))
	diff := after.Diff(before)
	if !slices.Equal(names(diff.Added), []string{"new"}) || !slices.Equal(names(diff.Removed), []string{"gone", "off"}) ||
		!slices.Equal(names(diff.Changed), []string{"other"}) || !slices.Equal(names(diff.Unchanged), []string{"same"}) || diff.Empty() {
		t.Fatal(diff)
	}
	if diff.Changed[0].Args[0].Reveal() != "2" {
		t.Fatal("Changed holds the old version")
	}
	if after.Equal(before) || !after.Diff(after).Empty() {
		t.Fatal("equality")
	}
	if all := before.Diff(Set{}); len(all.Added) != 4 {
		t.Fatal(all)
	}
}

func TestChangesThatCount(t *testing.T) {
	base := fields(`"command":"x","args":["a","b"],"env":{"A":"1"},"cwd":"w","timeout":5000`)
	b := newBed(t)
	before, _ := b.load(base)
	for _, same := range []string{
		"// comment\n" + base, strings.ReplaceAll(base, ",", " ,\n"),
		fields(`"timeout":5e3,"env":{"A":"1"},"foreign":1,"args":["a","b",],"cwd":"./w/","type":"stdio","command":"x","enabled":true`),
	} {
		if after, problems := b.load(same); !after.Equal(before) || after.Servers()[0].Fingerprint() != before.Servers()[0].Fingerprint() {
			t.Error("differs:", same, problems)
		}
	}
	for _, other := range []string{
		fields(`"command":"y","args":["a","b"],"env":{"A":"1"},"cwd":"w","timeout":5000`),
		fields(`"command":"x","args":["ab"],"env":{"A":"1"},"cwd":"w","timeout":5000`),
		fields(`"command":"x","args":["a","b"],"env":{"A":"2"},"cwd":"w","timeout":5000`),
		fields(`"command":"x","args":["a","b"],"env":{"A":null},"cwd":"w","timeout":5000`),
		fields(`"command":"x","args":["a","b"],"env":{"A":"1"},"cwd":"v","timeout":5000`),
		fields(`"command":"x","args":["a","b"],"env":{"A":"1"},"cwd":"w","timeout":5001`),
		fields(`"command":"x","args":["a","b"],"env":{"A":"1"},"cwd":"w","timeout":5000,"startupTimeout":9000`),
		fields(`"url":"https://h"`),
	} {
		after, problems := b.load(other)
		if after.Equal(before) || problems.Errors() || after.Servers()[0].Fingerprint() == before.Servers()[0].Fingerprint() {
			t.Error("does not differ:", other, problems)
		}
		if diff := after.Diff(before); len(diff.Changed) != 1 {
			t.Error(diff)
		}
	}
}

func TestTimeouts(t *testing.T) {
	b := newBed(t)
	s, problems := b.one(fields(`"command":"x","timeout":60000,"startupTimeout":1500.5`))
	if s.Timeout != time.Minute || s.StartupTimeout != 1500*time.Millisecond+500*time.Microsecond || len(problems) != 0 {
		t.Fatal(s.Timeout, s.StartupTimeout, problems)
	}
	if s, problems = b.one(fields(`"command":"x","timeout":60`)); s.Timeout != 60*time.Millisecond {
		t.Fatal(s.Timeout)
	}
	mustSay(t, problems, "timeout", "multiply by 1000")
	if s, problems = b.one(fields(`"command":"x","timeout":0`)); s.Timeout != 0 || len(problems) != 0 {
		t.Fatal(s.Timeout, problems)
	}
	for _, bad := range []string{`"60000"`, `-1`, `1e300`, `true`, `1e9999`} {
		mustSay(t, b.bad(`{"command":"x","timeout":`+bad+`}`), "timeout", "must be")
	}
}

func TestIdentity(t *testing.T) {
	one := Server{Name: "b", Source: Source{Path: "/a#"}}
	two := Server{Name: "#b", Source: Source{Path: "/a"}}
	if one.ID() == two.ID() || one.ID() != "/a%23#b" {
		t.Fatal(one.ID(), two.ID())
	}
}

func TestApprovalHash(t *testing.T) {
	b := newBed(t)
	b.write(filepath.Join(b.root, "env"), "A=1\n")
	hash := func(text string) string {
		t.Helper()
		s, _ := b.one(text)
		if len(s.ApprovalHash()) != 64 {
			t.Fatal(s.ApprovalHash())
		}
		return s.ApprovalHash()
	}
	text := fields(`"command":"x","args":["${T}"],"env":{"A":"1","B":"2"},"envFile":"env","note":[1,{"x":"y"}]`)
	first := hash(text)
	for _, same := range []string{
		"// c\n" + text,
		fields(`"note":[ 1, /* c */ {"x" : "y",},],"envFile":"env","env":{"B":"2","A":"1"},"command":"x","args":["${T}"]`),
	} {
		if hash(same) != first {
			t.Error("formatting changes the hash:", same)
		}
	}
	for _, other := range []string{
		strings.Replace(text, `"x"`, `"y"`, 1), strings.Replace(text, `[1,`, `[2,`, 1), strings.Replace(text, `"B"`, `"C"`, 1),
		strings.Replace(text, `"y"}`, `"yy"}`, 1), strings.Replace(text, `"a":`, `"b":`, 1),
	} {
		if hash(other) == first {
			t.Error("does not change the hash:", other)
		}
	}
	b.options.Getenv = environment(map[string]string{"T": "another"})
	if hash(text) != first {
		t.Error("the service's environment changes the hash")
	}
	b.write(filepath.Join(b.root, "env"), "A=1\nLD_PRELOAD=x\n")
	if hash(text) == first {
		t.Error("the envFile does not change the hash")
	}
}

// The hash is computed late, of what was read and not of what the host makes of its memory meanwhile, and for many at once.
func TestApprovalHashIsOfWhatWasRead(t *testing.T) {
	b := newBed(t)
	load := func(data []byte) Server {
		b.options.Supplied = []SuppliedFile{{Path: "f", Data: data}}
		set, problems := Load(b.options)
		if len(problems) != 0 {
			t.Fatal(problems)
		}
		return set.Servers()[0]
	}
	text := entries(`"a":{"command":"x","args":["y"],"foreign":[1, /* c */ {"z":[2,],},]}`)
	data := []byte(text)
	one, other := load(data), load([]byte(text))
	for i := range data {
		data[i] = 'x'
	}
	hashes := make(chan string)
	for range 4 {
		go func(s Server) { hashes <- s.ApprovalHash() }(one)
	}
	for range 4 {
		if hash := <-hashes; len(hash) != 64 || hash != other.ApprovalHash() {
			t.Error("not the hash of what was read:", hash)
		}
	}
	if one.Name != "a" || one.Args[0].Reveal() != "y" || !one.Equal(other) {
		t.Error("the server changes with the bytes it was read from")
	}
}

func TestHostServers(t *testing.T) {
	b := newBed(t)
	b.write(b.globFile, entries(`"one":{"command":"global"},"bad":{"command":"global"}`))
	b.options.Servers = []Server{
		{Name: "two", Transport: TransportHTTP, URL: NewSecret("http://u:p@example.com/?k=v"), AllowPlaintextCredentials: true},
		{Name: "one", Transport: TransportStdio, Command: NewSecret("host"), Env: []EnvVar{{Name: "B"}, {Name: "A"}}},
		{Name: "one", Transport: TransportStdio, Command: NewSecret("again")},
		{Name: "bad", Transport: TransportHTTP, URL: NewSecret("http://example.com"), Headers: []Header{{Name: "A", Value: NewSecret("x")}}},
		{Name: "worse"},
		{Name: "a__b", Transport: TransportStdio, Command: NewSecret("x")},
		{Name: " ", Transport: TransportStdio, Command: NewSecret("x")},
		{Name: "blank", Transport: TransportStdio},
		{Name: "header", Transport: TransportHTTP, URL: NewSecret("https://h"), Headers: []Header{{Name: "A", Value: NewSecret("x\n")}}},
		{Name: "env", Transport: TransportStdio, Command: NewSecret("x"), Env: []EnvVar{{Name: "="}}},
	}
	set, problems := Load(b.options)
	if got := names(set.Servers()); !slices.Equal(got, []string{"one", "two"}) || len(problems) != 8 {
		t.Fatal(got, problems)
	}
	one, two := set.Servers()[0], set.Servers()[1]
	if one.Command.Reveal() != "host" || one.Env[0].Name != "A" || one.Source.Scope != ScopeSupplied || one.ShownCommand() != "host" ||
		two.ShownURL() != "http://***@example.com/?***" || one.ApprovalHash() != "" {
		t.Fatal(one, two)
	}
	if len(set.Sources()) != 2 {
		t.Fatal(set.Sources())
	}
}

func TestSuppliedFiles(t *testing.T) {
	b := newBed(t)
	file := filepath.Join(b.home, "flag.json")
	b.options.Supplied = []SuppliedFile{{Path: file}}
	_, problems := Load(b.options)
	if len(problems) != 1 || !problems.Errors() || !strings.Contains(problems[0].Message, "no such file") {
		t.Fatal(problems)
	}
	b.write(file, entries(`"a":{"command":"flag"}`))
	if set, problems := Load(b.options); len(problems) != 0 || set.Servers()[0].Source.Scope != ScopeSupplied {
		t.Fatal(problems)
	}
	for _, optional := range []SuppliedFile{
		{Path: "traposd.json", Root: "servers", Data: []byte(`{"filters":{}}`)},
		{Path: filepath.Join(b.home, "missing"), Root: "servers"},
	} {
		b.options.Supplied = []SuppliedFile{optional}
		if set, problems := Load(b.options); len(problems) != 0 || len(set.All()) != 0 {
			t.Fatal(problems)
		}
	}
	b.options.Supplied = []SuppliedFile{{Path: "f", Data: make([]byte, maxFileBytes+1)}}
	if _, problems := Load(b.options); len(problems) != 1 || !strings.Contains(problems[0].Message, "too large") {
		t.Fatal(problems)
	}
}

func TestZeroSet(t *testing.T) {
	var set Set
	if len(set.Servers())+len(set.All())+len(set.Merged())+len(set.View("/x"))+len(set.Sources())+len(set.WatchPaths()) != 0 || !set.Equal(Set{}) {
		t.Fatal(set)
	}
	if _, found := set.Lookup("a"); found {
		t.Fatal("found")
	}
}
