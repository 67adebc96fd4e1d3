// Package doctor examines an installation from end to end and says, for each thing that is not as it should be, what it is
// and what to do. It changes nothing.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/traposd/traposd/daemon"
	"github.com/traposd/traposd/daemon/clients"
)

// Level is how bad a finding is.
type Level string

// The levels of findings.
const (
	OK      Level = "ok"      // as it should be
	Hint    Level = "hint"    // worth knowing, and no fault
	Warning Level = "warning" // works now, and may not later
	Problem Level = "problem" // does not work
)

// Finding is one thing that was looked at. Its texts name files, variables and fields, and hold no value of a
// configuration file; names in them are what others chose.
type Finding struct {
	Level   Level  `json:"level"`
	Subject string `json:"subject"` // one word: service, settings, port, …
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"` // one sentence; empty if there is nothing to do
}

// Report is the form of `traposd doctor --json`.
type Report struct {
	Version  int       `json:"version"` // 1
	Findings []Finding `json:"findings"`
}

// Healthy reports whether no finding is a problem.
func (r Report) Healthy() bool {
	for _, f := range r.Findings {
		if f.Level == Problem {
			return false
		}
	}
	return true
}

// Service is what is asked of the running service; *daemon.ControlClient is one.
type Service interface {
	Status(ctx context.Context) (daemon.StatusReport, error)
}

// Options are where Examine looks. Every field must be set.
type Options struct {
	Service Service
	Getenv  func(string) string
	Places  clients.Places
	Version string // of this program
}

// timeLimit bounds the examination: whatever hangs is a finding of its own.
const timeLimit = 20 * time.Second

// examination is one run.
type examination struct {
	Options
	ctx      context.Context //nolint:containedctx // one run of one function
	status   *daemon.StatusReport
	findings []Finding
}

// Examine looks at everything and returns what it found, in the order in which one thing needs another.
func Examine(ctx context.Context, o Options) Report {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	e := &examination{Options: o, ctx: ctx}
	e.service()
	e.settings()
	e.folders()
	e.endpoint()
	e.files()
	e.servers()
	e.programs()
	e.watching()
	e.computers()
	e.warnings()
	e.clients()
	return Report{Version: 1, Findings: e.findings}
}

func (e *examination) find(level Level, subject, message, remedy string) {
	e.findings = append(e.findings, Finding{Level: level, Subject: subject, Message: message, Remedy: remedy})
}

func (e *examination) service() {
	status, err := e.Service.Status(e.ctx)
	switch {
	case errors.Is(err, daemon.ErrNotRunning):
		e.find(Problem, "service", "the service is not running", "start it with `traposd start` if it is installed, else with `traposd run`")
	case err != nil:
		e.find(Problem, "service", "the service does not answer: "+err.Error(), "end it and start it again; its log says what it did last")
	case status.Service.Program != e.Version:
		e.status = &status
		e.find(Warning, "service", fmt.Sprintf("the service is version %s and this program is %s", status.Service.Program, e.Version), "restart the service with `traposd restart`")
	default:
		e.status = &status
		e.find(OK, "service", fmt.Sprintf("version %s runs as process %d", status.Service.Program, status.Service.PID), "")
	}
}

// settings reads the settings as a service would that is started here. Those of a running one were good enough to start.
func (e *examination) settings() {
	if e.status != nil {
		return
	}
	settings, err := daemon.ReadSettings(e.Getenv, daemon.Flags{})
	if err != nil {
		e.find(Problem, "settings", err.Error(), "set it in the environment in which the service is started")
		return
	}
	e.find(OK, "settings", "the settings of this environment can be read", "")
	e.port("the MCP endpoint", settings.MCPAddr, "MCP_PORT")
	if settings.GatewayAddr != daemon.Off {
		e.port("the gateway", settings.GatewayAddr, "TRAPOS_GATEWAY_ADDR")
	}
}

// folders looks at the rights of what holds secrets and consents.
func (e *examination) folders() {
	const others = 0o077
	if dir, err := daemon.StateDir(e.Getenv); err == nil {
		if info, err := os.Stat(dir); err == nil && privateRights && info.Mode().Perm()&others != 0 {
			e.find(Warning, "folders", fmt.Sprintf("other users can look into the state folder %s", dir), "close it with `chmod 700` on that folder")
		}
	}
	for _, variable := range []string{"TRAPOS_SERVER_PASSWORD_FILE", "TRAPOS_MCP_TOKEN_FILE"} {
		path := e.Getenv(variable)
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		switch {
		case err != nil:
			e.find(Problem, "secrets", fmt.Sprintf("the file that %s names cannot be read: %v", variable, err), "write the secret there, or unset "+variable)
		case privateRights && info.Mode().Perm()&others != 0:
			e.find(Warning, "secrets", fmt.Sprintf("other users can read %s, the file that %s names", path, variable), "close it with `chmod 600` on that file")
		}
	}
	const short = 12
	if password := e.Getenv("TRAPOS_SERVER_PASSWORD"); password != "" && len(password) < short {
		e.find(Warning, "secrets", fmt.Sprintf("the computers' password is shorter than %d characters", short), "choose a longer one: whoever guesses it is a computer of yours")
	}
}
