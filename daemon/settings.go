package daemon

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.uber.org/zap/zapcore"

	"github.com/traposd/traposd/mcpconfig"
)

// Off is the value of TRAPOS_GATEWAY_ADDR that runs the service without computers.
const Off = "off"

// Defaults of the settings that have one.
const (
	DefaultGatewayAddr = "127.0.0.1:4444"
	DefaultMCPAddr     = "127.0.0.1:4445"
)

// Settings is all that the service is told from outside its configuration files. The zero value is not usable; see
// ReadSettings.
type Settings struct {
	Password    mcpconfig.Secret // shared secret of the gateway; empty only if GatewayAddr is Off
	GatewayAddr string           // host:port, or Off
	GatewayCert string           // path of the gateway's certificate, in PEM; empty: it speaks no TLS
	GatewayKey  string           // path of the certificate's key
	GatewayAuth GatewayAuth      // how computers show that they know the password
	MCPAddr     string           // host:port
	Token       mcpconfig.Secret // bearer token of the listener; empty: none

	Workspaces []string // absolute paths of workspace roots, strongest first; none: those stored in StateDir
	ConfigDir  string   // absolute; holds mcp.json and traposd.json
	StateDir   string   // absolute
	RuntimeDir string   // absolute; holds the control socket

	LogLevel  zapcore.Level
	LogFormat LogFormat
	LogFile   string // absolute; empty: stderr
}

// Flags are the settings given on the command line; an empty one leaves the word to the environment.
type Flags struct {
	Workspaces []string
	ConfigDir  string
}

// ReadSettings reads the settings from the environment (getenv; nil: the process's own) and from flags, which are
// stronger. Every error is one sentence, wraps ErrSettings, and names the variable and how to set it. No error holds a
// secret's value.
func ReadSettings(getenv func(string) string, flags Flags) (Settings, error) {
	if getenv == nil {
		getenv = os.Getenv
	}
	s := Settings{GatewayAddr: DefaultGatewayAddr, MCPAddr: DefaultMCPAddr}
	for _, read := range []func(func(string) string, Flags) error{
		s.readAddresses, s.readGateway, s.readSecrets, s.readDirectories, s.readWorkspaces, s.readLogging,
	} {
		if err := read(getenv, flags); err != nil {
			return Settings{}, err
		}
	}
	return s, nil
}

func (s *Settings) readAddresses(getenv func(string) string, _ Flags) error {
	if v := strings.TrimSpace(getenv("TRAPOS_GATEWAY_ADDR")); v != "" {
		s.GatewayAddr = v
	}
	if s.GatewayAddr != Off {
		if err := checkAddress("TRAPOS_GATEWAY_ADDR", s.GatewayAddr, " or `off`"); err != nil {
			return err
		}
	}
	addr, port := strings.TrimSpace(getenv("TRAPOS_MCP_ADDR")), strings.TrimSpace(getenv("MCP_PORT"))
	switch {
	case addr != "":
		s.MCPAddr = addr
		return checkAddress("TRAPOS_MCP_ADDR", addr, "")
	case port != "":
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return failf(ErrSettings, "MCP_PORT must be a port number from 0 to 65535, like MCP_PORT=4445")
		}
		s.MCPAddr = net.JoinHostPort("127.0.0.1", port)
	}
	return nil
}

// GatewayAuth is a value of TRAPOS_GATEWAY_AUTH.
type GatewayAuth string

const (
	// AuthPassword takes the password as it is, and its proof from computers that would rather not send it.
	AuthPassword GatewayAuth = "password"
	// AuthChallenge takes the proof only, so that the password never crosses the network.
	AuthChallenge GatewayAuth = "challenge"
)

func (s *Settings) readGateway(getenv func(string) string, _ Flags) error {
	s.GatewayAuth = GatewayAuth(firstOf(getenv("TRAPOS_GATEWAY_AUTH"), string(AuthPassword)))
	if s.GatewayAuth != AuthPassword && s.GatewayAuth != AuthChallenge {
		return failf(ErrSettings, "TRAPOS_GATEWAY_AUTH must be password or challenge")
	}
	s.GatewayCert, s.GatewayKey = getenv("TRAPOS_GATEWAY_CERT"), getenv("TRAPOS_GATEWAY_KEY")
	if (s.GatewayCert == "") != (s.GatewayKey == "") {
		return failf(ErrSettings, "TRAPOS_GATEWAY_CERT and TRAPOS_GATEWAY_KEY belong together: set both to files in PEM, or neither")
	}
	return nil
}

func checkAddress(variable, addr, alternative string) error {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return failf(ErrSettings, "%s must be HOST:PORT%s, like %s=127.0.0.1:4444", variable, alternative, variable)
	}
	return nil
}

func (s *Settings) readSecrets(getenv func(string) string, _ Flags) error {
	var err error
	if s.Password, err = readSecret(getenv, "TRAPOS_SERVER_PASSWORD"); err != nil {
		return err
	}
	if s.Password.Reveal() == "" && s.GatewayAddr != Off {
		return failf(ErrSettings, "TRAPOS_SERVER_PASSWORD is not set: choose the secret that computers must give, "+
			"like TRAPOS_SERVER_PASSWORD=… traposd run, or run without computers by TRAPOS_GATEWAY_ADDR=off")
	}
	if s.Token, err = readSecret(getenv, "TRAPOS_MCP_TOKEN"); err != nil {
		return err
	}
	if s.Token.Reveal() == "" && !isLoopback(s.MCPAddr) {
		return failf(ErrSettings, "TRAPOS_MCP_TOKEN is not set, and TRAPOS_MCP_ADDR is beyond loopback: set a token, or use 127.0.0.1")
	}
	return nil
}

// isLoopback reports whether addr (host:port) can be reached from this machine only. A name other than localhost is not
// resolved: what it stands for can change.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// maxSecretFileBytes bounds what is read of a secret's file.
const maxSecretFileBytes = 64 << 10

// readSecret takes a secret from the variable of that name, else from the file that NAME_FILE names, else from the
// systemd credential of that name (systemd.exec(5), LoadCredential=). The end of line that editors add to a file is cut.
func readSecret(getenv func(string) string, name string) (mcpconfig.Secret, error) {
	if v := getenv(name); v != "" {
		return mcpconfig.NewSecret(v), nil
	}
	path, source := getenv(name+"_FILE"), name+"_FILE"
	if path == "" {
		dir := getenv("CREDENTIALS_DIRECTORY")
		if dir == "" {
			return mcpconfig.Secret{}, nil
		}
		path, source = filepath.Join(dir, name), "the systemd credential "+name
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return mcpconfig.Secret{}, nil
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return mcpconfig.Secret{}, failf(ErrSettings, "%s names a file that cannot be read: %v", source, err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxSecretFileBytes {
		return mcpconfig.Secret{}, failf(ErrSettings, "%s must name a regular file of at most 64 KiB: %s", source, path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return mcpconfig.Secret{}, failf(ErrSettings, "%s names a file that cannot be read: %v", source, err)
	}
	value := strings.TrimRight(string(data), "\r\n")
	if value == "" {
		return mcpconfig.Secret{}, failf(ErrSettings, "%s names an empty file: %s", source, path)
	}
	return mcpconfig.NewSecret(value), nil
}

func (s *Settings) readDirectories(getenv func(string) string, flags Flags) (err error) {
	place := places(getenv)
	if s.ConfigDir, err = directory("TRAPOS_CONFIG_DIR", flags.ConfigDir, getenv, place.config); err != nil {
		return err
	}
	if s.StateDir, err = directory("TRAPOS_STATE_DIR", "", getenv, place.state); err != nil {
		return err
	}
	s.RuntimeDir, err = directory("TRAPOS_RUNTIME_DIR", "", getenv, place.runtime)
	return err
}

// directory is the absolute path of a folder: as given by flag, by its variable, or the platform's own.
func directory(variable, flag string, getenv func(string) string, standard string) (string, error) {
	dir := firstOf(flag, getenv(variable), standard)
	if dir == "" {
		return "", failf(ErrSettings, "%s is not set and this user has no home folder to choose it from: set %s=DIR", variable, variable)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", failf(ErrSettings, "%s: %v", variable, err)
	}
	return abs, nil
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// readWorkspaces takes the flags, else TRAPOS_WORKSPACES, separated as PATH is. A workspace that does not exist yet is
// accepted, since it may be created later; one that is a file is not.
func (s *Settings) readWorkspaces(getenv func(string) string, flags Flags) error {
	roots, source := flags.Workspaces, "--workspace"
	if len(roots) == 0 {
		roots, source = filepath.SplitList(getenv("TRAPOS_WORKSPACES")), "TRAPOS_WORKSPACES"
	}
	seen := map[string]bool{}
	for _, root := range roots {
		if strings.TrimSpace(root) == "" {
			continue
		}
		abs, err := filepath.Abs(root)
		if err != nil {
			return failf(ErrSettings, "%s: %v", source, err)
		}
		if info, err := os.Stat(abs); err == nil && !info.IsDir() {
			return failf(ErrSettings, "%s must name folders, and this is a file: %s (give the folder that holds .mcp.json)", source, abs)
		}
		if !seen[abs] {
			seen[abs] = true
			s.Workspaces = append(s.Workspaces, abs)
		}
	}
	// A stored list that cannot be read is no reason to start with nothing.
	if _, err := readWorkspaces(s.StateDir); err != nil {
		return failf(ErrSettings, "%v", err)
	}
	return nil
}

func (s *Settings) readLogging(getenv func(string) string, _ Flags) error {
	if v := getenv("TRAPOS_LOG_LEVEL"); v != "" {
		level, err := zapcore.ParseLevel(v)
		if err != nil || level > zapcore.ErrorLevel {
			return failf(ErrSettings, "TRAPOS_LOG_LEVEL must be debug, info, warn or error")
		}
		s.LogLevel = level
	}
	if v := getenv("TRAPOS_LOG_FILE"); v != "" {
		abs, err := filepath.Abs(v)
		if err != nil {
			return failf(ErrSettings, "TRAPOS_LOG_FILE: %v", err)
		}
		s.LogFile = abs
	}
	s.LogFormat = LogFormat(firstOf(getenv("TRAPOS_LOG_FORMAT"), string(LogAuto)))
	if !s.LogFormat.valid() {
		return failf(ErrSettings, "TRAPOS_LOG_FORMAT must be auto, journald, json or console")
	}
	return nil
}
