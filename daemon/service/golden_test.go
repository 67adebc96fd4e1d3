package service

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// specs are what is rendered, by the name of the golden files.
func specs() map[string]Spec {
	const odd = `/opt/a b/100% "x" $HOME {{y}} \d\e`
	return map[string]Spec{
		"user": {
			Program: "/home/u/go/bin/traposd", ConfigDir: "/home/u/.config/traposd", StateDir: "/home/u/.local/state/traposd",
			LogDir: "/Users/u/Library/Logs/traposd", SecretsDir: "/home/u/.config/traposd/secrets", Secrets: []string{SecretPassword},
			MCPAddr: "127.0.0.1:4445", Gateway: "127.0.0.1:4444", Systemd: 252,
		},
		"system": {
			System: true, Program: "/usr/local/bin/traposd", ConfigDir: "/etc/traposd", StateDir: "/var/lib/traposd",
			LogDir: "/Library/Logs/traposd", SecretsDir: "/etc/traposd/secrets", Secrets: []string{SecretPassword, SecretToken}, Account: "traposd",
			MCPAddr: "127.0.0.1:4445", Gateway: "0.0.0.0:4444", Systemd: 257, Workspaces: []string{"/srv/project", "/home/u/project"},
			Variables: []Variable{{"TRAPOS_GATEWAY_ADDR", "0.0.0.0:4444"}, {"TRAPOS_LOG_LEVEL", "debug"}},
		},
		"odd": {
			System: true, Program: "/opt/a b/100% $HOME {{y}}/traposd", ConfigDir: odd + "/c", StateDir: odd + "/s", LogDir: odd + "/l", SecretsDir: odd + "/secrets",
			Secrets: []string{SecretPassword}, Account: "traposd", MCPAddr: "localhost:4445", Gateway: "[::1]:4444",
			Workspaces: []string{odd + "/w", "/home/u & v/<p>"}, Variables: []Variable{{"TRAPOS_LOG_LEVEL", `%h "$x" \n`}},
		},
		"alone": {
			Program: "/usr/bin/traposd", ConfigDir: "/c", StateDir: "/s", LogDir: "/l", MCPAddr: "127.0.0.1:0",
		},
	}
}

func rendered(s Spec) string {
	var b strings.Builder
	for _, f := range s.units() {
		b.WriteString("== " + f.Name + "\n" + f.Text)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	for name, spec := range specs() {
		if err := spec.check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		golden(t, name+".units", rendered(spec))
		golden(t, name+".plist", spec.plist().Text)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; -update writes it anew. Got:\n%s", name, got)
	}
}

func TestUnitsHoldNoSecretAndNoTemplate(t *testing.T) {
	for name, spec := range specs() {
		if text := rendered(spec); strings.Contains(text, "Environment="+SecretPassword+"=") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestCheckRefusesWhatNoUnitCanSay(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"newline":        func(s *Spec) { s.ConfigDir = "/c\nExecStartPre=/bin/evil" },
		"in a value":     func(s *Spec) { s.Variables = []Variable{{"TRAPOS_LOG_LEVEL", "info\r"}} },
		"variable":       func(s *Spec) { s.Variables = []Variable{{"A=B", "x"}} },
		"no UTF-8":       func(s *Spec) { s.StateDir = "/s\xff" },
		"quote":          func(s *Spec) { s.Program = `/opt/"x"/traposd` },
		"relative":       func(s *Spec) { s.Workspaces = []string{"work"} },
		"last backslash": func(s *Spec) { s.ConfigDir = `/c\` },
		"last space":     func(s *Spec) { s.ConfigDir = "/c " },
		"go run":         func(s *Spec) { s.Program = "/tmp/go-build123/b001/exe/traposd" },
		"in a home":      func(s *Spec) { s.System, s.Program = true, "/home/u/bin/traposd" },
		"colon":          func(s *Spec) { s.System, s.Workspaces = true, []string{"/home/u/a:b"} },
	} {
		spec := specs()["alone"]
		change(&spec)
		if err := spec.check(); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSocketAddress(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:4445": "127.0.0.1:4445", "[::1]:4445": "[::1]:4445", ":4444": "4444",
		"localhost:4445": "", "127.0.0.1:0": "", "off": "", "": "", "[fe80::1%eth0]:4444": "",
	} {
		if got := socketAddress(addr); got != want {
			t.Errorf("%q: %q, want %q", addr, got, want)
		}
	}
}

// TestPlistIsRead has Python's plistlib read the property lists: plutil is on macOS only.
func TestPlistIsRead(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Log("python3 is not there: the golden files are all that is compared")
		return
	}
	spec := specs()["odd"]
	const script = `import plistlib,sys
p=plistlib.loads(sys.stdin.buffer.read())
print(repr((p["Label"],p["ProgramArguments"][0],p["ProgramArguments"][-1],p["EnvironmentVariables"]["TRAPOS_LOG_LEVEL"],p["KeepAlive"],p["ExitTimeOut"],p["Umask"],p["UserName"])))`
	cmd := exec.CommandContext(t.Context(), python, "-c", script)
	cmd.Stdin = strings.NewReader(spec.plist().Text)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := `('com.github.traposd.traposd', '/opt/a b/100% $HOME {{y}}/traposd', '/home/u & v/<p>', '%h "$x" \\n', {'SuccessfulExit': False}, 20, 63, 'traposd')`
	if got := strings.TrimSpace(string(out)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// EnvironmentFile= is a pattern, which has to fit the very file that is meant.
func TestEnvironmentFileIsTakenLiterally(t *testing.T) {
	for dir, want := range map[string]string{
		"/c/a b":      "/c/a b",
		"/c/100%":     "/c/100%%",
		"/c/*":        `/c/\*`,
		"/c/[x]?":     `/c/\[x\]\?`,
		`/c/back\sla`: `/c/back\\sla`,
	} {
		s := specs()["alone"]
		s.ConfigDir = dir
		if unit := s.unit(); !strings.Contains(unit, "EnvironmentFile=-"+want+"/environment\n") {
			t.Errorf("%s: %s", dir, unit)
		}
	}
}
