package mcpconfig

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseEnvFile(t *testing.T) {
	env, err := parseEnvFile([]byte("\xef\xbb\xbf# comment\r\n\r\nPLAIN=a b # c\r\n export EXPORTED = x\nEMPTY=\nHASH=a#b\n" +
		`DOUBLE="a\nb \"q\" \\ \$x \z # no"  # c` + "\n" + `SINGLE='a\nb "q" #' ` + "\nQUOTED=\"\"\nTWICE=1\nTWICE=2\nEQUALS=a=b=c\n" +
		"REFERENCE=${T}\nexporter=1\nSPACED =  v  \nCOMMENT= # c\na.b-c=1\n名=前\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"COMMENT=", "DOUBLE=a\nb \"q\" \\ $x \\z # no", "EMPTY=", "EQUALS=a=b=c", "EXPORTED=x", "HASH=a#b", "PLAIN=a b", "QUOTED=",
		"REFERENCE=${T}", `SINGLE=a\nb "q" #`, "SPACED=v", "TWICE=2", "a.b-c=1", "exporter=1", "名=前",
	}
	if got := envs(Server{Env: env}); !slices.Equal(got, want) {
		t.Fatalf("%q\nwant\n%q", got, want)
	}
}

func TestParseEnvFileErrors(t *testing.T) {
	for text, words := range map[string]string{
		"A=1\nSECRET\n": "line 2 of the file: no = sign", "=x": "line 1", "A B=SECRET": "name", "A=\"SECRET": "not closed", "A='SECRET": "not closed",
		"A='x' SECRET": "after the closing", "A=\xff": "UTF-8", "A=\x00": "NUL", strings.Repeat("A=1\n", 10) + "\"A\"=SECRET": "line 11",
	} {
		_, err := parseEnvFile([]byte(text))
		if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: %v", text, err)
		}
	}
	var many strings.Builder
	for i := range maxVariables + 1 {
		many.WriteString(strings.Repeat("a", i%60+1) + strings.Repeat("b", i/60+1) + "=\n")
	}
	if _, err := parseEnvFile([]byte(many.String())); err == nil {
		t.Error("no bound")
	}
}

func TestEnvFile(t *testing.T) {
	b := newBed(t)
	file := filepath.Join(b.root, "sub", "env")
	text := fields(`"command":"x","envFile":"${Y:-sub}/env","env":{"A":"entry","C":"3","Z":null}`)
	mustSay(t, b.bad(`{"command":"x","envFile":"sub/env"}`), "envFile", "there is no such file")
	set, _ := b.load(text)
	if !slices.Contains(set.WatchPaths(), file) {
		t.Fatal("a missing envFile must be watched:", set.WatchPaths())
	}
	b.mkdir("sub")
	b.write(file, "A=file\nB=file\nZ=file\nY=file\n")
	s, problems := b.one(text)
	if got := envs(s); !slices.Equal(got, []string{"A=entry", "B=file", "C=3", "Y=file", "Z"}) || len(problems) != 0 {
		t.Fatal(got, problems)
	}
	if s.EnvFile.Reveal() != file {
		t.Fatal(s.EnvFile.Reveal())
	}
	before, _ := Load(b.options)
	b.write(file, "A=other\nB=other\n")
	after, _ := Load(b.options)
	if after.Equal(before) || len(after.Diff(before).Changed) != 1 {
		t.Fatal("the content of an envFile counts as configuration")
	}
	b.write(file, "# comment\n\nB=other\nA=another\n")
	if again, _ := Load(b.options); !again.Equal(after) {
		t.Fatal("a comment in an envFile changes nothing")
	}
	b.write(file, "SECRETS")
	errs := b.bad(`{"command":"x","envFile":"sub/env"}`)
	mustSay(t, errs, "envFile", "line 1 of the file")
	mustSay(t, b.bad(`{"command":"x","envFile":"sub"}`), "envFile", "not a regular file")
	mustSay(t, b.bad(`{"command":"x","envFile":3}`), "envFile", "must be a string")
	if s, _ := b.one(fields(`"command":"x","envFile":""`)); !s.EnvFile.IsZero() {
		t.Fatal(s)
	}
	b.write(filepath.Join(b.home, "env"), "A=1")
	if s, _ := b.one(fields(`"command":"x","envFile":"~/env"`)); len(s.Env) != 1 {
		t.Fatal(envs(s))
	}
}
