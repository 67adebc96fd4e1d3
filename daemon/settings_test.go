package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// environment answers like a process's environment that holds only these variables.
func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestReadSettingsRefusals(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	home := []string{"HOME", t.TempDir(), "APPDATA", t.TempDir(), "LOCALAPPDATA", t.TempDir()}
	for name, c := range map[string]struct {
		env   []string
		flags Flags
		words []string // of the one line
	}{
		"no password":                  {nil, Flags{}, []string{"TRAPOS_SERVER_PASSWORD is not set", "TRAPOS_GATEWAY_ADDR=off"}},
		"password file missing":        {[]string{"TRAPOS_SERVER_PASSWORD_FILE", file + ".none"}, Flags{}, []string{"TRAPOS_SERVER_PASSWORD_FILE", "cannot be read"}},
		"password file empty":          {[]string{"TRAPOS_SERVER_PASSWORD_FILE", file}, Flags{}, []string{"TRAPOS_SERVER_PASSWORD_FILE", "empty"}},
		"password file a folder":       {[]string{"TRAPOS_SERVER_PASSWORD_FILE", filepath.Dir(file)}, Flags{}, []string{"regular file"}},
		"gateway address without port": {[]string{"TRAPOS_SERVER_PASSWORD", "x", "TRAPOS_GATEWAY_ADDR", "here"}, Flags{}, []string{"TRAPOS_GATEWAY_ADDR", "HOST:PORT", "off"}},
		"certificate without a key":    {[]string{"TRAPOS_SERVER_PASSWORD", "x", "TRAPOS_GATEWAY_CERT", "c.pem"}, Flags{}, []string{"TRAPOS_GATEWAY_KEY", "both"}},
		"gateway's way to authorise":   {[]string{"TRAPOS_SERVER_PASSWORD", "x", "TRAPOS_GATEWAY_AUTH", "none"}, Flags{}, []string{"TRAPOS_GATEWAY_AUTH", "challenge"}},
		"port not a number":            {[]string{"TRAPOS_SERVER_PASSWORD", "x", "MCP_PORT", "http"}, Flags{}, []string{"MCP_PORT", "4445"}},
		"beyond loopback, no token":    {[]string{"TRAPOS_SERVER_PASSWORD", "x", "TRAPOS_MCP_ADDR", "0.0.0.0:4445"}, Flags{}, []string{"TRAPOS_MCP_TOKEN", "beyond loopback"}},
		"a name is not loopback":       {[]string{"TRAPOS_SERVER_PASSWORD", "x", "TRAPOS_MCP_ADDR", "myhost:4445"}, Flags{}, []string{"TRAPOS_MCP_TOKEN"}},
		"workspace is a file":          {[]string{"TRAPOS_SERVER_PASSWORD", "x"}, Flags{Workspaces: []string{file}}, []string{"--workspace", "this is a file"}},
		"log level":                    {[]string{"TRAPOS_SERVER_PASSWORD", "x", "TRAPOS_LOG_LEVEL", "loud"}, Flags{}, []string{"TRAPOS_LOG_LEVEL", "debug"}},
		"log format":                   {[]string{"TRAPOS_SERVER_PASSWORD", "x", "TRAPOS_LOG_FORMAT", "xml"}, Flags{}, []string{"TRAPOS_LOG_FORMAT", "journald"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadSettings(environment(append(c.env, home...)...), c.flags)
			if !errors.Is(err, ErrSettings) || ExitCode(err) != ExitUsage {
				t.Fatalf("got %v, exit code %d", err, ExitCode(err))
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			for _, word := range c.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not say %q", err, word)
				}
			}
		})
	}
}

func TestReadSettingsPasswordSources(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "TRAPOS_SERVER_PASSWORD")
	if err := os.WriteFile(file, []byte("from file\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env  []string
		want string
	}{
		"variable":                  {[]string{"TRAPOS_SERVER_PASSWORD", " kept as it is "}, " kept as it is "},
		"file":                      {[]string{"TRAPOS_SERVER_PASSWORD_FILE", file}, "from file"},
		"credential":                {[]string{"CREDENTIALS_DIRECTORY", dir}, "from file"},
		"variable before file":      {[]string{"TRAPOS_SERVER_PASSWORD", "v", "TRAPOS_SERVER_PASSWORD_FILE", file}, "v"},
		"none, with no gateway":     {[]string{"TRAPOS_GATEWAY_ADDR", "off"}, ""},
		"credential of others only": {[]string{"CREDENTIALS_DIRECTORY", t.TempDir(), "TRAPOS_GATEWAY_ADDR", "off"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := ReadSettings(environment(append(c.env, "HOME", dir, "APPDATA", dir, "LOCALAPPDATA", dir)...), Flags{})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Password.Reveal(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestReadSettingsDefaultsAndPrecedence(t *testing.T) {
	root := t.TempDir()
	env := environment("TRAPOS_SERVER_PASSWORD", "x", "HOME", root, "APPDATA", root, "LOCALAPPDATA", root,
		"TRAPOS_WORKSPACES", filepath.Join(root, "a")+string(filepath.ListSeparator)+filepath.Join(root, "b")+string(filepath.ListSeparator)+filepath.Join(root, "a"),
		"TRAPOS_CONFIG_DIR", filepath.Join(root, "conf"))
	s, err := ReadSettings(env, Flags{})
	if err != nil {
		t.Fatal(err)
	}
	if s.MCPAddr != DefaultMCPAddr || s.GatewayAddr != DefaultGatewayAddr || s.LogFormat != LogAuto {
		t.Errorf("defaults: %s %s %s", s.MCPAddr, s.GatewayAddr, s.LogFormat)
	}
	if want := filepath.Join(root, "a") + " " + filepath.Join(root, "b"); strings.Join(s.Workspaces, " ") != want {
		t.Errorf("workspaces %q, want %q", s.Workspaces, want)
	}
	s, err = ReadSettings(env, Flags{Workspaces: []string{filepath.Join(root, "c")}, ConfigDir: filepath.Join(root, "flag")})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Workspaces) != 1 || filepath.Base(s.Workspaces[0]) != "c" || filepath.Base(s.ConfigDir) != "flag" {
		t.Errorf("flags are not stronger: %q %q", s.Workspaces, s.ConfigDir)
	}
}

func TestIsLoopback(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:1": true, "127.8.9.1:1": true, "[::1]:1": true, "localhost:1": true, "LOCALHOST:1": true, "[::ffff:127.0.0.1]:1": true,
		"0.0.0.0:1": false, ":1": false, "[::]:1": false, "10.0.0.1:1": false, "localhost.example:1": false, "127.0.0.1": false,
	} {
		if got := isLoopback(addr); got != want {
			t.Errorf("isLoopback(%q) = %v", addr, got)
		}
	}
}

func TestOurVariablesReachNoChild(t *testing.T) {
	t.Setenv("TRAPOS_SERVER_PASSWORD", "canary")
	t.Setenv("Trapos_Mcp_Token", "canary")
	t.Setenv("NOTIFY_SOCKET", "canary")
	t.Setenv("FOR_EVERYONE", "fine")
	joined := strings.Join(childEnviron(), "\n")
	if strings.Contains(joined, "canary") {
		t.Error("a variable of ours is in the environment of children")
	}
	if !strings.Contains(joined, "FOR_EVERYONE=fine") {
		t.Error("a variable that is not ours is missing")
	}
	if _, found := lookupEnv("TRAPOS_SERVER_PASSWORD"); found {
		t.Error("a configuration file can expand the gateway's secret")
	}
	if v, _ := lookupEnv("FOR_EVERYONE"); v != "fine" {
		t.Error("a configuration file cannot expand an ordinary variable")
	}
}
