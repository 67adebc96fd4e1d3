package daemon

import (
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/traposd/traposd/daemon/recent"
	"github.com/traposd/traposd/gateway"
	"github.com/traposd/traposd/mcp/upstream"
	"github.com/traposd/traposd/mcpconfig"
)

// reportVersion is the version of every --json form. Within it, members are only ever added.
const reportVersion = 1

// ServiceReport says where the running service can be reached.
type ServiceReport struct {
	Version    int       `json:"version"`
	PID        int       `json:"pid"`
	Program    string    `json:"program"` // version of traposd
	Since      time.Time `json:"since"`
	MCP        string    `json:"mcp"`               // URL of the listener
	Gateway    string    `json:"gateway,omitempty"` // URL that computers connect to; absent if off
	Workspaces []string  `json:"workspaces"`
}

// SourceReport is where an entry stands.
type SourceReport struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

// ServerReport is one configured server.
type ServerReport struct {
	Name       string         `json:"name"`
	Scope      string         `json:"scope"`
	Source     SourceReport   `json:"source"`
	Transport  string         `json:"transport,omitempty"`
	State      string         `json:"state"` // off starting ready degraded backing-off stopping invalid pending needs-login
	Since      *time.Time     `json:"since,omitempty"`
	PID        int            `json:"pid,omitempty"`
	Tools      int            `json:"tools"`
	Restarts   int            `json:"restarts"`
	Error      string         `json:"error,omitempty"`
	Note       string         `json:"note,omitempty"`       // why it is as it is, where that is no error
	Shadows    []SourceReport `json:"shadows"`              // weaker entries of the same name
	ShadowedBy *SourceReport  `json:"shadowedBy,omitempty"` // the entry that /mcp shows instead

	LatenciesMs []float64 `json:"latenciesMs,omitempty"` // of the last requests to it, at most 40, oldest first; in a status only

	id string // as package upstream has it; empty if it does not run
}

// ProblemReport is one diagnostic of the configuration files.
type ProblemReport struct {
	Severity     string     `json:"severity"`
	Path         string     `json:"path"`
	Line         int        `json:"line,omitempty"`
	Column       int        `json:"column,omitempty"`
	Server       string     `json:"server,omitempty"`
	Field        string     `json:"field,omitempty"`
	Message      string     `json:"message"`
	KeptLastGood bool       `json:"keptLastGood,omitempty"`
	Since        *time.Time `json:"since,omitempty"` // when it appeared
}

// ServersReport is the form of `traposd servers --json`.
type ServersReport struct {
	Version  int             `json:"version"`
	Servers  []ServerReport  `json:"servers"`
	Problems []ProblemReport `json:"problems"`
}

// ComputerReport is one connected computer.
type ComputerReport struct {
	Network     string    `json:"network"`
	TraposID    string    `json:"traposId"`
	ComputerID  int       `json:"computerId"`
	Label       string    `json:"label"`
	Serves      []string  `json:"serves"`
	State       string    `json:"state"`
	ConnectedAt time.Time `json:"connectedAt"`

	LastExecAt *time.Time `json:"lastExecAt,omitempty"` // of the last exec-lua that it answered; in a status only
}

// ComputersReport is the form of `traposd computers --json`.
type ComputersReport struct {
	Version   int              `json:"version"`
	Computers []ComputerReport `json:"computers"`
}

// FileReport is one configuration file that is read if it is there.
type FileReport struct {
	Path      string     `json:"path"`
	Scope     string     `json:"scope"`
	Exists    bool       `json:"exists"`
	OK        bool       `json:"ok"`                // false: it is broken as a whole
	ModTime   *time.Time `json:"modTime,omitempty"` // of the content that was read last
	LastGood  bool       `json:"lastGood,omitempty"`
	Workspace string     `json:"workspace,omitempty"`
}

// SessionReport is one connected MCP client.
type SessionReport struct {
	Client   string    `json:"client"` // how it calls itself
	Revision string    `json:"revision"`
	Since    time.Time `json:"since"`
	Streams  int       `json:"streams"`
}

// EventsReport is what the service remembers of its log, oldest first.
type EventsReport struct {
	Version int            `json:"version"`
	Events  []recent.Event `json:"events"`
}

// SessionsReport is the form of `traposd sessions --json`.
type SessionsReport struct {
	Version  int             `json:"version"`
	Sessions []SessionReport `json:"sessions"`
}

// StatusReport is the form of `traposd status --json`: all that can be asked, at one moment.
type StatusReport struct {
	Version   int              `json:"version"`
	Service   ServiceReport    `json:"service"`
	Files     []FileReport     `json:"files"`
	Servers   []ServerReport   `json:"servers"`
	Problems  []ProblemReport  `json:"problems"`
	Pending   []Pending        `json:"pending"`
	Computers []ComputerReport `json:"computers"`
	Sessions  []SessionReport  `json:"sessions"`
	Warnings  []recent.Event   `json:"warnings"` // of the last quarter of an hour, at most 20, each kind once, oldest first
}

// Bounds of what a status says of the log.
const (
	warningsSpan = 15 * time.Minute
	maxWarnings  = 20
)

// recentWarnings are the warnings and errors of late; of those that say the same of the same, the last.
func recentWarnings(events *recent.Events, now time.Time) []recent.Event {
	all := events.After(0)
	warnings := []recent.Event{}
	seen := map[string]bool{}
	for _, e := range slices.Backward(all) {
		if now.Sub(e.Time) > warningsSpan || len(warnings) == maxWarnings {
			break
		}
		key := fmt.Sprint(e.Message, e.Fields["server"], e.Fields["network"], e.Fields["computer"])
		if e.Level == zapcore.InfoLevel.String() || seen[key] {
			continue
		}
		seen[key] = true
		warnings = append(warnings, e)
	}
	slices.Reverse(warnings)
	return warnings
}

// Degraded reports whether something is not as it should be: an error in a configuration file, or a server that is meant to
// serve and does not. One that is starting, switched off or waiting for approval is as it should be.
func (r StatusReport) Degraded() bool {
	for _, p := range r.Problems {
		if p.Severity == mcpconfig.SeverityError.String() {
			return true
		}
	}
	for _, s := range r.Servers {
		switch s.State {
		case string(upstream.StateDegraded), string(upstream.StateBackingOff), string(upstream.StateNeedsLogin), stateInvalid:
			return true
		}
	}
	return false
}

// States of an entry that does not run; the others are package upstream's.
const (
	stateInvalid = "invalid" // it has an error and no last good version
	statePending = "pending" // it waits for approval
)

// PendingReport is what waits for approval. Masked, it is the form of `traposd approve --list --json`.
type PendingReport struct {
	Version int       `json:"version"`
	Pending []Pending `json:"pending"`
}

// Masked returns the report without commands and urls. Only the person at the terminal who is asked for consent sees
// those: what is kept as JSON, in a status or in a log, holds no value of a file.
func (r PendingReport) Masked() PendingReport {
	masked := make([]Pending, len(r.Pending))
	for i, p := range r.Pending {
		p.Command, p.URL = "", ""
		masked[i] = p
	}
	r.Pending = masked
	return r
}

// WorkspacesReport is the form of `traposd workspace list --json`.
type WorkspacesReport struct {
	Version    int         `json:"version"`
	Workspaces []Workspace `json:"workspaces"`
	Overridden bool        `json:"overridden"` // the running service was given others by flag or variable
}

// serversReport joins what is configured with what runs.
func serversReport(now loaded, running []upstream.Status) ServersReport {
	report := ServersReport{Version: reportVersion, Servers: []ServerReport{}, Problems: []ProblemReport{}}
	byID := make(map[string]upstream.Status, len(running))
	for _, s := range running {
		byID[s.ID] = s
	}
	waits := map[string]Pending{}
	for _, p := range now.pending {
		waits[p.id] = p
	}
	configured := map[string]bool{}
	for _, s := range now.set.All() {
		configured[s.ID()] = true
		r := serverReport(s, byID[s.ID()])
		if p, waiting := waits[s.ID()]; waiting {
			r.wait(p)
		}
		report.Servers = append(report.Servers, r)
	}
	for _, s := range running { // removed from the files, and not gone yet
		if !configured[s.ID] {
			report.Servers = append(report.Servers, runningReport(s))
		}
	}
	for _, p := range now.problems {
		r := ProblemReport{
			Severity: p.Severity.String(), Path: p.Path, Line: p.Line, Column: p.Column,
			Server: p.Server, Field: p.Field, Message: p.Message, KeptLastGood: p.KeptLastGood,
		}
		if since, known := now.since[p.String()]; known {
			r.Since = &since
		}
		report.Problems = append(report.Problems, r)
	}
	return report
}

// wait marks an entry that is not approved. If a version of it runs, that one's state is the one that counts.
func (r *ServerReport) wait(p Pending) {
	command := "`traposd approve " + r.Name + "`"
	switch {
	case p.Changed:
		r.Note = "an edit waits for " + command
	case p.Running:
		r.Note = "runs from before its workspace asked for approval, and stays off after a restart without " + command
	default:
		r.State, r.Note = statePending, "waits for "+command
	}
}

func serverReport(s mcpconfig.Server, running upstream.Status) ServerReport {
	r := runningReport(running)
	r.Name, r.Scope = s.Name, s.Source.Scope.String()
	r.Source = SourceReport{Path: s.Source.Path, Line: s.Source.Line}
	r.Transport = s.Transport.String()
	for _, hidden := range s.Shadows {
		r.Shadows = append(r.Shadows, SourceReport{Path: hidden.Path, Line: hidden.Line})
	}
	if s.ShadowedBy.Path != "" {
		r.ShadowedBy = &SourceReport{Path: s.ShadowedBy.Path, Line: s.ShadowedBy.Line}
	}
	switch {
	case s.Invalid:
		r.State, r.Transport, r.Note = stateInvalid, "", "its entry has an error: see the problem at its line"
	case s.Disabled:
		r.State, r.Note = string(upstream.StateOff), "switched off in its file"
	case s.Hidden:
		r.State, r.Note = string(upstream.StateOff), hiddenNote(s)
	case s.ShadowedBy.Path != "":
		r.Note = hiddenNote(s) + " at /mcp"
	}
	if running.ID == "" && s.Runnable() {
		r.State = string(upstream.StateStarting)
	}
	return r
}

func hiddenNote(s mcpconfig.Server) string {
	return fmt.Sprintf("hidden by %s:%d", s.ShadowedBy.Path, s.ShadowedBy.Line)
}

func runningReport(s upstream.Status) ServerReport {
	r := ServerReport{
		Name: s.Name, Scope: s.Scope.String(), Source: SourceReport{Path: s.Source.Path, Line: s.Source.Line},
		Transport: s.Transport.String(), State: string(s.State), PID: s.PID, Tools: s.Tools, Restarts: s.Restarts, Error: s.Err,
		Shadows: []SourceReport{}, id: s.ID,
	}
	if !s.Since.IsZero() {
		r.Since = &s.Since
	}
	return r
}

func computersReport(computers []gateway.Computer) ComputersReport {
	report := ComputersReport{Version: reportVersion, Computers: []ComputerReport{}}
	for _, c := range computers {
		serves := c.Serves
		if serves == nil {
			serves = []string{}
		}
		report.Computers = append(report.Computers, ComputerReport{
			Network: c.NetworkID, TraposID: c.TraposID, ComputerID: c.ComputerID, Label: c.Label,
			Serves: serves, State: string(c.State), ConnectedAt: c.ConnectedAt,
		})
	}
	return report
}
