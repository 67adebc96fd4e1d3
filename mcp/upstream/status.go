package upstream

import (
	"time"

	"github.com/traposd/traposd/mcpconfig"
)

// State is where a server stands.
type State string

// The states, in the order of a server's life. StateDegraded still serves, with something wrong that Status.Err names.
const (
	StateOff        State = "off"         // disabled in its file
	StateStarting   State = "starting"    // first start, or started again
	StateReady      State = "ready"       // serving
	StateDegraded   State = "degraded"    // serving, but its newest configuration does not come up, or a list cannot be read
	StateBackingOff State = "backing-off" // failed; the next start is timed
	StateNeedsLogin State = "needs-login" // the remote server refuses our credentials; tried again slowly
	StateStopping   State = "stopping"    // removed; its last calls finish
)

// Status is what there is to say about one server.
type Status struct {
	ID        string
	Name      string
	Scope     mcpconfig.Scope
	Source    mcpconfig.Source
	Transport mcpconfig.Transport
	State     State
	Since     time.Time // when State was entered, or for a ready server when the run that serves took over from an earlier one
	PID       int       // of the child process; 0: none
	Tools     int       // tools offered now
	Restarts  int       // starts after a failure, since the server was added
	Err       string    // why it is not ready, with the end of its stderr; empty: nothing is wrong
	Inferred  bool      // the entry has no "type" and is taken to be SSE
	Revision  string    // protocol revision spoken; empty: not connected
}
