package daemon

import (
	"os"
	"strings"
)

// isOurs reports whether an environment variable is for traposd alone: its settings (secrets among them), and what systemd
// hands to the service (sd_notify(3), sd_listen_fds(3), systemd.exec(5)), which would misfire in a child.
func isOurs(name string) bool {
	switch name {
	case "MCP_PORT", "CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID",
		"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "JOURNAL_STREAM", "INVOCATION_ID", "MAINPID", "SYSTEMD_EXEC_PID",
		"RUNTIME_DIRECTORY", "STATE_DIRECTORY", "CACHE_DIRECTORY", "LOGS_DIRECTORY", "CONFIGURATION_DIRECTORY":
		return true
	}
	return strings.HasPrefix(strings.ToUpper(name), "TRAPOS_")
}

// childEnviron is the environment that a server's process starts from: ours without what isOurs.
func childEnviron() []string {
	var out []string
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); !isOurs(name) {
			out = append(out, entry)
		}
	}
	return out
}

// lookupEnv is what `${VAR}` in a configuration file can see. Our own secrets are as good as unset, or a committed file
// could send them to a server of its choice.
func lookupEnv(name string) (string, bool) {
	if isOurs(name) {
		return "", false
	}
	return os.LookupEnv(name)
}
