package daemon

import (
	"os"
	"path/filepath"

	"github.com/traposd/traposd/mcpconfig"
)

// Check validates the given files or, if there are none, those that a service with these flags and this environment would
// read. It connects to nothing and needs no secret.
func Check(files []string, flags Flags) (mcpconfig.Report, error) {
	s := Settings{GatewayAddr: DefaultGatewayAddr, MCPAddr: DefaultMCPAddr}
	for _, read := range []func(func(string) string, Flags) error{s.readAddresses, s.readDirectories, s.readWorkspaces} {
		if err := read(os.Getenv, flags); err != nil {
			return mcpconfig.Report{}, err
		}
	}
	if err := mustBeThere(flags); err != nil {
		return mcpconfig.Report{}, err
	}
	abs := make([]string, len(files))
	for i, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			return mcpconfig.Report{}, failf(ErrUsage, "%s: %v", file, err)
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return mcpconfig.Report{}, failf(ErrUsage, "%s is a folder: name a file in it, or check its .mcp.json by --workspace", file)
		}
		abs[i] = path
	}
	stored, err := readWorkspaces(s.StateDir)
	if err != nil {
		return mcpconfig.Report{}, failf(ErrSettings, "%v", err)
	}
	options := s.loadOptions(s.workspaces(stored), s.MCPAddr)
	report := mcpconfig.Check(abs, options)
	own, problems := readOwnFile(s.ownFilePath(), ownFile{})
	report.Problems = append(report.Problems, withoutLastGood(problems)...)
	if len(abs) == 0 {
		set, _ := mcpconfig.Load(options)
		// Where nothing is found, the service has its workspaces from elsewhere, and so the servers that filters name.
		if workspaces := s.workspaces(stored); len(workspaces)+len(set.Servers()) > 0 {
			report.Problems = append(report.Problems, own.filters.strangers(s.ownFilePath(), set, workspaces)...)
		}
	}
	return report, nil
}

// withoutLastGood leaves out what is true of a running service only.
func withoutLastGood(problems mcpconfig.Problems) mcpconfig.Problems {
	for i := range problems {
		problems[i].KeptLastGood = false
	}
	return problems
}

// mustBeThere refuses folders that are named on the command line and do not exist: a check of nothing finds nothing.
func mustBeThere(flags Flags) error {
	for _, dir := range append([]string{flags.ConfigDir}, flags.Workspaces...) {
		if dir == "" {
			continue
		}
		if _, err := os.Stat(dir); err != nil {
			return failf(ErrUsage, "the folder is not there: %s", dir)
		}
	}
	return nil
}

// RuntimeDir is where the service that this environment means has its control socket.
func RuntimeDir(getenv func(string) string) (string, error) {
	return directory("TRAPOS_RUNTIME_DIR", "", getenv, places(getenv).runtime)
}

// ComputerPassword is the gateway's secret, for an emulated computer.
func ComputerPassword(getenv func(string) string) (mcpconfig.Secret, error) {
	password, err := readSecret(getenv, "TRAPOS_SERVER_PASSWORD")
	if err == nil && password.Reveal() == "" {
		err = failf(ErrSettings, "TRAPOS_SERVER_PASSWORD is not set: give the secret that the gateway asks for")
	}
	return password, err
}

// ListenerToken is the listener's bearer token, for the command line's own calls; empty if none is set.
func ListenerToken(getenv func(string) string) (mcpconfig.Secret, error) {
	return readSecret(getenv, "TRAPOS_MCP_TOKEN")
}

// StateDir is where the service that this environment means keeps its workspaces and approvals.
func StateDir(getenv func(string) string) (string, error) {
	return directory("TRAPOS_STATE_DIR", "", getenv, places(getenv).state)
}

// ConfigDir is the configuration folder of a service that is told of no other.
func ConfigDir(getenv func(string) string) (string, error) {
	return directory("TRAPOS_CONFIG_DIR", "", getenv, places(getenv).config)
}

// IsLoopback reports whether addr (host:port) can be reached from this machine only. A name other than localhost is not
// resolved.
func IsLoopback(addr string) bool { return isLoopback(addr) }
