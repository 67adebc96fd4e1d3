package doctor

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/traposd/traposd/daemon"
	"github.com/traposd/traposd/daemon/clients"
)

// manyRestarts is from when on a server counts as one that does not stay up.
const manyRestarts = 3

// files tells the problems of the configuration files.
func (e *examination) files() {
	if e.status == nil {
		return
	}
	read := 0
	for _, f := range e.status.Files {
		if f.Exists {
			read++
		}
		if !f.Exists && f.Scope == "workspace" {
			e.find(Hint, "files", f.Path+" is not there", "write it, or take the workspace out with `traposd workspace remove`")
		}
	}
	for _, p := range e.status.Problems {
		level := Problem
		if p.Severity != "error" {
			level = Warning
		}
		about := ""
		if p.Server != "" {
			about = fmt.Sprintf("server %q: ", p.Server)
		}
		if p.Field != "" {
			about += p.Field + ": "
		}
		remedy := "mend it there; it is read again when it is saved"
		if p.KeptLastGood {
			remedy += ", and the last good version serves until then"
		}
		e.find(level, "files", fmt.Sprintf("%s:%d:%d: %s%s", p.Path, p.Line, p.Column, about, p.Message), remedy)
	}
	if len(e.status.Problems) == 0 {
		e.find(OK, "files", daemon.Counted(read, "configuration file")+" read, no problem", "")
	}
	for _, p := range e.status.Pending {
		e.find(Warning, "approval", fmt.Sprintf("server %q of %s waits for approval", p.Name, p.Source.Path),
			fmt.Sprintf("look at the entry and run `traposd approve %s`", quoted(p.Name)))
	}
}

// servers tells which servers do not serve.
func (e *examination) servers() {
	if e.status == nil {
		return
	}
	if len(e.status.Servers) == 0 {
		e.find(Hint, "servers", "no server is configured", "write one into the .mcp.json of a workspace; `traposd workspace add FOLDER` names one")
		return
	}
	ready := 0
	for _, s := range e.status.Servers {
		if e.server(s) {
			ready++
		}
	}
	e.find(OK, "servers", fmt.Sprintf("%d of %s ready", ready, daemon.Counted(len(e.status.Servers), "server")), "")
}

func (e *examination) server(s daemon.ServerReport) (ready bool) {
	where := fmt.Sprintf("%s:%d", s.Source.Path, s.Source.Line)
	again := fmt.Sprintf("mend the entry at %s, which is applied when it is saved, or what it needs and run `traposd restart %s`", where, quoted(s.Name))
	switch s.State {
	case "ready":
		if s.Restarts >= manyRestarts {
			e.find(Warning, "servers", fmt.Sprintf("server %q has been started again %d times", s.Name, s.Restarts), "its log lines say why it ended; "+again)
		}
		return true
	case "needs-login":
		e.find(Problem, "servers", fmt.Sprintf("server %q wants a login: %s", s.Name, s.Error), "give it a header with a token in the entry at "+where)
	case "backing-off":
		loop := ""
		if s.Restarts >= manyRestarts {
			loop = fmt.Sprintf(" in a loop, %d times so far", s.Restarts)
		}
		e.find(Problem, "servers", fmt.Sprintf("server %q fails%s: %s", s.Name, loop, s.Error), again)
	case "degraded":
		e.find(Problem, "servers", fmt.Sprintf("server %q serves its former configuration: %s", s.Name, s.Error), again)
	}
	return false
}

// programs looks for what most servers are started with. A service has another PATH than a shell, but it looks into the
// usual tool folders too, so what is not even found here is missing.
func (e *examination) programs() {
	for _, p := range []struct{ name, remedy string }{
		{"npx", "servers from npm need it: install Node.js"},
		{"uvx", "servers from PyPI need it: install uv"},
	} {
		if _, err := exec.LookPath(p.name); err != nil {
			e.find(Hint, "programs", p.name+" is not found on this PATH", p.remedy)
		}
	}
}

// warnings tells what the service has logged lately.
func (e *examination) warnings() {
	if e.status == nil {
		return
	}
	for _, w := range e.status.Warnings {
		if w.Fields["server"] != nil && w.Fields["state"] != nil || w.Message == "configuration problem" || strings.HasPrefix(w.Message, "entry waits for approval") {
			continue // told with its server or its file, while it is so
		}
		e.find(Warning, "log", w.Time.Local().Format("15:04:05")+" "+w.Text(), remedyFor(w.Message, w.Fields))
	}
}

// remedyFor is what to do about a log line that does not say it itself.
func remedyFor(message string, fields map[string]any) string {
	code, _ := fields["code"].(string)
	switch {
	case message == "computer refused" && code == "unauthorized":
		return "the computer has another password: run `cloud password` on it and type the one of this service"
	case message == "computer refused":
		return "the computer's screen says what to do; `cloud status` on it says more"
	case strings.HasPrefix(message, "file events are limited"):
		return "raise that sysctl, as root: `sysctl -w NAME=VALUE` with twice its present value, and put it into /etc/sysctl.d"
	case strings.HasPrefix(message, "a client sends a session"):
		return "let that client connect again (in Claude Code: /mcp, reconnect); most do by themselves"
	}
	return ""
}

// clients looks whether the clients on this machine know of us.
func (e *examination) clients() {
	url := "http://" + daemon.DefaultMCPAddr + "/mcp"
	if e.status != nil {
		url = e.status.Service.MCP
	}
	for _, c := range clients.All() {
		path := c.Path(e.Places)
		switch state, err := c.State(path, url); {
		case err != nil:
			e.find(Warning, "clients", fmt.Sprintf("%s: %v", c.Title, err), "mend that file, or the client cannot read it either")
		case state == clients.Missing:
		case state == clients.Connected:
			e.find(OK, "clients", c.Title+" is connected to this service", "")
		case state == clients.Elsewhere:
			e.find(Warning, "clients", fmt.Sprintf("%s has an entry traposd that leads elsewhere than %s", c.Title, url), "write it anew with `traposd connect "+c.Name+"`")
		default:
			e.find(Hint, "clients", c.Title+" is there and has no entry for this service", "add one with `traposd connect "+c.Name+"`")
		}
	}
}
