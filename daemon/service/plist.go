package service

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// plistName is the property list's file name: launchd wants it to be the label.
const plistName = Label + ".plist"

// Timings of launchd, in seconds: between two starts, and from SIGTERM to SIGKILL. A stop takes 10 s at most.
const (
	throttleInterval = 10
	exitTimeOut      = 20
)

// plist is the definition for launchd (launchd.plist(5)): an agent of the user, or a daemon of the machine. It is started
// again if it fails, not if it ends well. What it holds is no secret; the mode keeps it from others all the same.
func (s *Spec) plist() File {
	p := &plist{}
	p.text("Label", Label)
	p.array("ProgramArguments", append([]string{s.Program}, s.arguments()...))
	vars := s.environment()
	if s.System { // there is no folder below /var/run that an account of its own could make
		vars = append(vars, Variable{"TRAPOS_RUNTIME_DIR", s.StateDir + "/run"})
	}
	vars = append(vars, Variable{"TRAPOS_LOG_FILE", s.LogDir + "/" + Name + ".log"}) // launchd rotates nothing
	for _, name := range s.Secrets {
		vars = append(vars, Variable{name + "_FILE", s.SecretsDir + "/" + name})
	}
	p.dict("EnvironmentVariables", func() {
		for _, v := range vars {
			p.text(v.Name, v.Value)
		}
	})
	p.flag("RunAtLoad", true)
	p.dict("KeepAlive", func() { p.flag("SuccessfulExit", false) })
	p.number("ThrottleInterval", throttleInterval)
	p.number("ExitTimeOut", exitTimeOut)
	p.text("ProcessType", "Interactive") // a client waits for each answer; the default may be slowed down
	p.number("Umask", 0o077)
	p.text("StandardOutPath", "/dev/null")
	p.text("StandardErrorPath", s.LogDir+"/"+Name+".err") // what is said before the log is open, and a crash's trace
	if s.System {
		p.text("UserName", s.Account)
		p.text("WorkingDirectory", s.StateDir)
	}
	return File{plistName, p.document(), 0o600}
}

// plist writes the elements of a property list.
type plist struct {
	b     strings.Builder
	depth int
}

func (p *plist) document() string {
	return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
` + p.b.String() + "</dict>\n</plist>\n"
}

func (p *plist) line(s string) {
	p.b.WriteString(strings.Repeat("\t", p.depth+1))
	p.b.WriteString(s)
	p.b.WriteByte('\n')
}

func (p *plist) text(key, value string) {
	p.line("<key>" + escaped(key) + "</key>")
	p.line("<string>" + escaped(value) + "</string>")
}

func (p *plist) number(key string, value int) {
	p.line("<key>" + key + "</key>")
	p.line("<integer>" + strconv.Itoa(value) + "</integer>")
}

func (p *plist) flag(key string, value bool) {
	p.line("<key>" + key + "</key>")
	p.line("<" + strconv.FormatBool(value) + "/>")
}

func (p *plist) array(key string, values []string) {
	p.line("<key>" + key + "</key>")
	p.line("<array>")
	for _, v := range values {
		p.line("\t<string>" + escaped(v) + "</string>")
	}
	p.line("</array>")
}

func (p *plist) dict(key string, content func()) {
	p.line("<key>" + key + "</key>")
	p.line("<dict>")
	p.depth++
	content()
	p.depth--
	p.line("</dict>")
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder's Write does not fail
	return b.String()
}
