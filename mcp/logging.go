package mcp

import (
	"encoding/json"
	"slices"

	"github.com/traposd/traposd/mcp/wire"
)

// logLevel is a syslog severity as the specification names them (server utilities, "Logging"); higher is graver.
type logLevel int

var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

const (
	levelInfo logLevel = 1
	levelOff  logLevel = 8 // above all of them
)

func parseLevel(raw json.RawMessage) (logLevel, bool) {
	name, _ := wire.String(raw)
	i := slices.Index(logLevels, name)
	return logLevel(i), i >= 0
}

// admits reports whether a log message with those params is grave enough. One without a known level is let through to
// whoever wants any.
func (l logLevel) admits(params json.RawMessage) bool {
	raw, _ := wire.Get(params, "level")
	level, known := parseLevel(raw)
	return l < levelOff && (!known || level >= l)
}
