package upstream

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcp"
)

// Bounds on what one server can make us hold. Each is far above what an honest server needs.
const (
	maxMessageBytes   = 32 << 20 // one message either way: results and arguments of 16 MiB, escaped, with room to spare
	maxTailBytes      = 64 << 10 // the end of a server's stderr that is kept
	maxPages          = 1000     // pages of one list
	maxDefinitions    = 20000    // definitions in one list
	maxServerRequests = 32       // requests of one server to us that are being answered
	maxRetiring       = 4        // old processes of one server that may still be stopping when a new one starts
	maxQueuedMessages = 64       // messages that wait to be written to one child process
	maxQueuedProgress = 256      // progress notifications that wait for one call; more are dropped, the oldest stay
	maxRedirects      = 5
)

// Options are the settings of a Reconciler. The zero value works.
type Options struct {
	Logger *zap.Logger // nil: nothing is logged

	// OnChange is given all that is offered, in the order of the set, whenever that differs from last time. Calls are
	// serialized and come outside of all locks; a slow one delays the next one and nothing else. The slice is the callee's.
	OnChange func(entries []mcp.Entry)

	// OnNotification is given a server's notifications that belong to no single call (notifications/message,
	// notifications/resources/updated, …). Per server, calls come in the order of arrival; a slow one delays that server.
	OnNotification func(serverID, method string, params json.RawMessage)

	// LogLevel is asked for what a server that comes up is to log, a level as logging/setLevel has it; ok is false if nobody
	// has said. It does not block. nil: servers are told by who calls them only.
	LogLevel func() (level string, ok bool)

	// OnStatus is given every change of a server's state. Calls come outside of all locks, per server in order; a slow one
	// delays that server.
	OnStatus func(Status)

	ClientName    string // what we call ourselves to servers; empty: "traposd"
	ClientVersion string // empty: "0"

	// Environ is the base environment of child processes, as os.Environ gives it, without our own secrets. It is asked at
	// every start. nil: os.Environ without what begins with TRAPOS_ and what the service manager gave to us alone.
	Environ func() []string

	// RunDir is an existing directory for the run file, which lists the running children so that the next start can
	// end those that outlived a crash of ours. Empty: no run file.
	RunDir string

	// StateDir is an existing directory for the file that remembers, as hashes, how each server defined its tools, so that a
	// change is seen over a restart of ours. Empty: changes are seen as long as we run.
	StateDir string

	dial func(ctx context.Context, network, address string) (net.Conn, error) // nil: over the network; tests have their own

	Times Times
}

// Times are the time limits of a Reconciler. A zero field means its default.
type Times struct {
	Start      time.Duration // from the start of a server to the first complete list of its tools; 120 s
	Call       time.Duration // from a call, or its last progress, to its result; 300 s
	Drain      time.Duration // for the calls in flight on a server that is replaced or removed; 30 s
	StdinClose time.Duration // from the closing of a child's stdin to SIGTERM; 5 s, in Close at most 4 s
	Terminate  time.Duration // from SIGTERM to SIGKILL; 3 s, in Close at most 2 s
	BackoffMin time.Duration // first pause before a server that failed is started again; doubled each time; 1 s
	BackoffMax time.Duration // longest such pause; 60 s
	Healthy    time.Duration // a server that has been ready for so long begins at BackoffMin again; 60 s
	Wait       time.Duration // how long a call waits for a server that is just starting; 5 s
	Ping       time.Duration // between two probes of an idle remote server, and the limit of one; 12 s, so that a silent death is found within 24 s
	Discover   time.Duration // for a remote server to answer the probe for revision 2026-07-28; 2 s
	Lookup     time.Duration // between two looks for a command that was not found, which start nothing; 5 s
}

func (t Times) withDefaults() Times {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&t.Start, 120 * time.Second},
		{&t.Call, 300 * time.Second},
		{&t.Drain, 30 * time.Second},
		{&t.StdinClose, 5 * time.Second},
		{&t.Terminate, 3 * time.Second},
		{&t.BackoffMin, time.Second},
		{&t.BackoffMax, 60 * time.Second},
		{&t.Healthy, 60 * time.Second},
		{&t.Wait, 5 * time.Second},
		{&t.Ping, 12 * time.Second},
		{&t.Discover, 2 * time.Second},
		{&t.Lookup, 5 * time.Second},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return t
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if o.OnChange == nil {
		o.OnChange = func([]mcp.Entry) {}
	}
	if o.OnNotification == nil {
		o.OnNotification = func(string, string, json.RawMessage) {}
	}
	if o.OnStatus == nil {
		o.OnStatus = func(Status) {}
	}
	if o.ClientName == "" {
		o.ClientName = "traposd"
	}
	if o.ClientVersion == "" {
		o.ClientVersion = "0"
	}
	if o.Environ == nil {
		o.Environ = ownEnviron
	}
	o.Times = o.Times.withDefaults()
	return o
}

// serviceVariables are what systemd gives to the service itself; a child that inherited them could speak in our name.
var serviceVariables = []string{
	"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES",
	"CREDENTIALS_DIRECTORY", "INVOCATION_ID", "JOURNAL_STREAM",
}

func ownEnviron() []string {
	var out []string
next:
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(strings.ToUpper(name), "TRAPOS_") {
			continue
		}
		for _, own := range serviceVariables {
			if name == own {
				continue next
			}
		}
		out = append(out, pair)
	}
	return out
}
