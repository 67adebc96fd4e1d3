package service

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Name is what the service is called everywhere: its units, its account, its folders.
const Name = "traposd"

// Label is what launchd calls it: reverse domain order, as launchd.plist(5) asks for.
const Label = "com.github.traposd.traposd"

const (
	description = "traposd: MCP servers and ComputerCraft computers on one endpoint"
	homePage    = "https://github.com/traposd/traposd"
)

// Names of the secrets that the service may be given; each is a file of that name in Spec.SecretsDir.
const (
	SecretPassword = "TRAPOS_SERVER_PASSWORD"
	SecretToken    = "TRAPOS_MCP_TOKEN"
)

// Which failure it is. The errors that wrap them say with what.
var (
	ErrRefused      = errors.New("refused")       // what was asked for cannot be done as it is; nothing was changed
	ErrNotInstalled = errors.New("not installed") // there is no service to drive
)

// Variable is one setting that the service gets in its environment. It is readable by everyone on the machine, so it is
// never a secret.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Spec is a service as it is to be installed. All paths are absolute.
type Spec struct {
	System     bool       // of the machine; false: of this user
	Program    string     // the executable
	Workspaces []string   // given to the program by flag; none: its stored list counts
	ConfigDir  string     // holds mcp.json, traposd.json and the optional file `environment`
	StateDir   string     // workspaces, approvals
	LogDir     string     // where launchd and Windows keep the log
	SecretsDir string     // one file for each of Secrets
	Secrets    []string   // names
	Account    string     // the user that a system service runs as
	MCPAddr    string     // host:port
	Gateway    string     // host:port, or empty if there is none
	Variables  []Variable // settings beside the folders
	Systemd    int        // its version; 0: not known
}

// protectedFolders are those that a system service cannot see or must not be run from: they belong to people, or to nobody.
var protectedFolders = []string{"/home", "/root", "/run/user", "/tmp", "/var/tmp", "/dev/shm"}

// check refuses what no unit can say, before anything is written.
func (s *Spec) check() error {
	texts := append([]string{s.Program, s.ConfigDir, s.StateDir, s.SecretsDir, s.LogDir, s.Account, s.MCPAddr, s.Gateway}, s.Workspaces...)
	for _, v := range s.Variables {
		texts = append(texts, v.Value)
		if v.Name == "" || strings.ContainsFunc(v.Name, func(r rune) bool {
			return r != '_' && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
		}) {
			return fmt.Errorf("%w: the variable's name %q is not made of A-Z, 0-9 and _", ErrRefused, v.Name)
		}
	}
	for _, text := range texts {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
			return fmt.Errorf("%w: %q holds control characters, which a service's definition cannot say: choose another path or value", ErrRefused, text)
		}
		if strings.TrimSpace(text) != text || strings.HasSuffix(text, `\`) && filepath.Separator == '/' {
			return fmt.Errorf("%w: %q begins or ends with a space or a backslash: rename it", ErrRefused, text)
		}
	}
	for _, path := range append([]string{s.Program, s.ConfigDir, s.StateDir}, s.Workspaces...) {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("%w: %q is not an absolute path", ErrRefused, path)
		}
	}
	for _, w := range s.Workspaces {
		if s.System && hiddenHome(w) && strings.Contains(w, ":") {
			return fmt.Errorf("%w: %q has a colon, and a folder of somebody's home can be shown to a service of the machine only without one: rename it", ErrRefused, w)
		}
	}
	return s.checkProgram()
}

// checkProgram refuses a program that will not be there tomorrow, or not for a system service.
func (s *Spec) checkProgram() error {
	if strings.Contains(filepath.ToSlash(s.Program), "/go-build") {
		return fmt.Errorf("%w: this program is a passing build of `go run`: `go install ./cmd/traposd`, and run that one", ErrRefused)
	}
	if filepath.Separator == '/' && strings.ContainsAny(s.Program, `"'\`) {
		return fmt.Errorf("%w: systemd runs no program whose path has quotes or backslashes, like %s: move it", ErrRefused, s.Program)
	}
	if !s.System {
		return nil
	}
	for _, folder := range protectedFolders {
		if below(folder, s.Program) {
			return fmt.Errorf("%w: a service of the machine cannot be run from %s, which is where %s is: `cp %[3]s /usr/local/bin/`, and run that one",
				ErrRefused, folder, s.Program)
		}
	}
	return nil
}

// hiddenHome tells whether ProtectHome= hides path (systemd.exec(5)).
func hiddenHome(path string) bool {
	return below("/home", path) || below("/root", path) || below("/run/user", path)
}

// below tells whether path is in folder; both are absolute and slashed.
func below(folder, path string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// arguments are the program's, without its name.
func (s *Spec) arguments() []string {
	args := []string{"run"}
	for _, w := range s.Workspaces {
		args = append(args, "--workspace", w)
	}
	return args
}

// environment is what the service is told, the folders included, in the order in which it is written.
func (s *Spec) environment() []Variable {
	vars := []Variable{{"TRAPOS_CONFIG_DIR", s.ConfigDir}, {"TRAPOS_STATE_DIR", s.StateDir}}
	return append(vars, s.Variables...)
}

// socketAddress is addr in the form of ListenStream=; empty if a socket unit cannot listen there: it resolves no names, and
// a port that the system chooses would be another one for the program.
func socketAddress(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "0" || port == "" {
		return ""
	}
	if host == "" {
		return port
	}
	if ip := net.ParseIP(host); ip == nil || strings.Contains(host, "%") {
		return ""
	}
	return net.JoinHostPort(host, port)
}
