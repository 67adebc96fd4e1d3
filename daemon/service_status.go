package daemon

import (
	"fmt"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcp/upstream"
)

// statusLine is the service in one line, for the service manager: "5 servers, 1 failed; 12 computers".
func (d *Daemon) statusLine() string {
	computers := -1
	if d.gateway != nil {
		computers = len(d.gateway.Registry().Computers())
	}
	return statusLine(d.serversReport().Servers, computers)
}

// tellManager notes that the service manager could not be told something. It finds out by its own timeouts.
func (d *Daemon) tellManager(err error) {
	if err != nil {
		d.log.Warn("the service manager does not take messages", zap.Error(err))
	}
}

// statusLine counts what is meant to run; computers is -1 without a gateway.
func statusLine(servers []ServerReport, computers int) string {
	total, failed, waiting := 0, 0, 0
	for _, s := range servers {
		switch s.State {
		case string(upstream.StateOff):
			continue
		case string(upstream.StateDegraded), string(upstream.StateBackingOff), string(upstream.StateNeedsLogin), stateInvalid:
			failed++
		case statePending:
			waiting++
		}
		total++
	}
	line := Counted(total, "server")
	if failed > 0 {
		line += fmt.Sprintf(", %d failed", failed)
	}
	if waiting > 0 {
		line += fmt.Sprintf(", %d waiting for approval", waiting)
	}
	if computers >= 0 {
		line += "; " + Counted(computers, "computer")
	}
	return line
}

// Counted is n things, of which one is a thing: "1 server", "2 servers".
func Counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
