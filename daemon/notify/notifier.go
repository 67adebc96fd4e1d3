package notify

import (
	"context"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// statusInterval is how often the status line is looked at; it is sent only when it has changed.
const statusInterval = 2 * time.Second

// Notifier sends to the manager that NOTIFY_SOCKET names.
type Notifier struct {
	send     func(state string) error
	watchdog time.Duration // within which a sign of life must come; 0: none is asked for

	mu   sync.Mutex
	last string // guarded by mu: the status line that was sent last
}

// New reads the environment (NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID). It returns nil if no manager listens; all methods
// do nothing on the nil *Notifier.
func New() *Notifier {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return nil
	}
	n := &Notifier{send: func(state string) error {
		_, err := daemon.SdNotify(false, state)
		return err
	}}
	// A watchdog that cannot be read is one that is not fed: the manager says so soon enough.
	n.watchdog, _ = daemon.SdWatchdogEnabled(false)
	return n
}

// Ready says that the service can be used, or that a reload is over.
func (n *Notifier) Ready(status string) error {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	n.last = status
	n.mu.Unlock()
	return n.send(daemon.SdNotifyReady + "\nSTATUS=" + oneLine(status))
}

// Reloading says that a reload begins; Ready ends it. The time stamp is what Type=notify-reload asks for (systemd 253).
func (n *Notifier) Reloading() error {
	if n == nil {
		return nil
	}
	return n.send(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec())
}

// Stopping says that the service is on its way out.
func (n *Notifier) Stopping() error {
	if n == nil {
		return nil
	}
	return n.send(daemon.SdNotifyStopping + "\nSTATUS=stopping")
}

// Run keeps the status line what status says and feeds the watchdog until ctx ends. The sign of life follows from an answer
// of status: a service in which that blocks is dead, and is restarted.
func (n *Notifier) Run(ctx context.Context, status func() string) {
	if n == nil {
		return
	}
	interval := statusInterval
	if n.watchdog > 0 {
		interval = min(interval, n.watchdog/3) // sd_watchdog_enabled(3) asks for half of it at least
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			n.beat(status())
		}
	}
}

// beat sends what is new; a manager that does not take it now is told again at the next beat.
func (n *Notifier) beat(status string) {
	var lines []string
	n.mu.Lock()
	if status != n.last {
		lines = append(lines, "STATUS="+oneLine(status))
	}
	n.mu.Unlock()
	if n.watchdog > 0 {
		lines = append(lines, daemon.SdNotifyWatchdog)
	}
	if len(lines) == 0 || n.send(strings.Join(lines, "\n")) != nil {
		return
	}
	n.mu.Lock()
	n.last = status
	n.mu.Unlock()
}

// oneLine keeps a status from being read as further assignments.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
