package daemon

import (
	"context"
	"os"
	"time"

	"github.com/traposd/traposd/daemon/recent"
)

// These are what the control socket can ask for; see operations.

func (d *Daemon) serviceReport() ServiceReport {
	workspaces := []string{}
	for _, w := range d.reloader.current().workspaces {
		workspaces = append(workspaces, w.Path)
	}
	return ServiceReport{
		Version: reportVersion, PID: os.Getpid(), Program: d.version, Since: d.since,
		MCP: d.MCPURL(), Gateway: d.GatewayURL(), Workspaces: workspaces,
	}
}

func (d *Daemon) serversReport() ServersReport {
	now := d.reloader.current()
	return serversReport(now, d.reconciler.Status())
}

func (d *Daemon) computersReport() ComputersReport {
	if d.gateway == nil {
		return computersReport(nil)
	}
	return computersReport(d.gateway.Registry().Computers())
}

func (d *Daemon) eventsReport(after uint64) EventsReport {
	events := d.events.After(after)
	return EventsReport{Version: reportVersion, Events: append([]recent.Event{}, events...)}
}

func (d *Daemon) pendingReport() PendingReport {
	return PendingReport{Version: reportVersion, Pending: append([]Pending{}, d.reloader.current().pending...)}
}

// reload has the watcher look at every file first, so that what it knows is not older than what is applied.
func (d *Daemon) reload(ctx context.Context) error {
	d.tellManager(d.notifier.Reloading())
	defer func() { d.tellManager(d.notifier.Ready(d.statusLine())) }()
	d.watcher.Poke()
	return d.reloader.reload(ctx)
}

func (d *Daemon) restart(name string) error { return d.reconciler.Restart(name) }

// approve consents to the pending entry of that name (see choose), or to all if it is empty, and applies it.
func (d *Daemon) approve(ctx context.Context, name string) (PendingReport, error) {
	chosen, err := choose(d.reloader.current().pending, name)
	if err != nil {
		return PendingReport{}, err
	}
	d.storing.Lock()
	err = approve(d.settings.StateDir, chosen, time.Now().UTC())
	d.storing.Unlock()
	if err != nil {
		return PendingReport{}, err
	}
	return PendingReport{Version: reportVersion, Pending: chosen}, d.reload(ctx)
}

// addWorkspace and removeWorkspace change the stored list and apply it.
func (d *Daemon) addWorkspace(ctx context.Context, dir string, approve bool) (Workspace, error) {
	d.storing.Lock()
	w, err := AddWorkspace(d.settings.StateDir, dir, approve)
	d.storing.Unlock()
	if err != nil {
		return Workspace{}, err
	}
	return w, d.reload(ctx)
}

func (d *Daemon) removeWorkspace(ctx context.Context, dir string) (Workspace, error) {
	d.storing.Lock()
	w, err := RemoveWorkspace(d.settings.StateDir, dir)
	d.storing.Unlock()
	if err != nil {
		return Workspace{}, err
	}
	return w, d.reload(ctx)
}

func (d *Daemon) workspacesReport() (WorkspacesReport, error) {
	report, err := StoredWorkspaces(d.settings.StateDir)
	report.Overridden = len(d.settings.Workspaces) > 0
	return report, err
}

func (d *Daemon) statusReport() StatusReport {
	now := d.reloader.current()
	servers := serversReport(now, d.reconciler.Status())
	report := StatusReport{
		Version: reportVersion, Service: d.serviceReport(), Files: filesReport(now.set),
		Servers: servers.Servers, Problems: servers.Problems, Pending: d.pendingReport().Masked().Pending,
		Computers: d.computersReport().Computers, Sessions: []SessionReport{},
		Warnings: recentWarnings(d.events, time.Now()),
	}
	for i := range report.Servers {
		report.Servers[i].LatenciesMs = d.calls.last(report.Servers[i].id)
	}
	for i := range report.Computers {
		c := &report.Computers[i]
		if at := d.computers.LastExec(c.Network, c.TraposID); !at.IsZero() {
			c.LastExecAt = &at
		}
	}
	for _, s := range d.listener.Sessions() {
		report.Sessions = append(report.Sessions, SessionReport{Client: s.Client, Revision: s.Revision, Since: s.Since, Streams: s.Streams})
	}
	return report
}
