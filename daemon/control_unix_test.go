//go:build unix

package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/traposd/traposd/daemon/recent"
	"github.com/traposd/traposd/mcpconfig"
)

// operationsStub is a service that does as it is told.
type operationsStub struct{ reloaded, restarted int }

func (o *operationsStub) serviceReport() ServiceReport { return ServiceReport{Version: 1, PID: 7} }
func (o *operationsStub) statusReport() StatusReport   { return StatusReport{Version: 1} }
func (o *operationsStub) serversReport() ServersReport {
	return ServersReport{Version: 1, Servers: []ServerReport{{Name: "a"}}}
}
func (o *operationsStub) computersReport() ComputersReport { return computersReport(nil) }
func (o *operationsStub) reload(context.Context) error     { o.reloaded++; return nil }
func (o *operationsStub) eventsReport(after uint64) EventsReport {
	return EventsReport{Version: 1, Events: []recent.Event{{Seq: after + 1}}}
}
func (o *operationsStub) pendingReport() PendingReport { return PendingReport{Version: 1} }
func (o *operationsStub) workspacesReport() (WorkspacesReport, error) {
	return WorkspacesReport{}, errors.New("workspaces.json cannot be read")
}

func (o *operationsStub) approve(_ context.Context, name string) (PendingReport, error) {
	if name == "" {
		return PendingReport{}, failf(ErrUsage, "nothing waits")
	}
	return PendingReport{Version: 1, Pending: []Pending{{Name: name}}}, nil
}

func (o *operationsStub) addWorkspace(_ context.Context, dir string, approve bool) (Workspace, error) {
	return Workspace{Path: dir, Approve: approve}, nil
}

func (o *operationsStub) removeWorkspace(_ context.Context, dir string) (Workspace, error) {
	return Workspace{Path: dir}, nil
}

func (o *operationsStub) changePassword(_ context.Context, secret mcpconfig.Secret, overlap time.Duration) (PasswordReport, error) {
	return PasswordReport{Version: 1, Changed: secret.Reveal() == "new", OverlapSeconds: int(overlap.Seconds())}, nil
}

func (o *operationsStub) logLevelReport() (LogLevelReport, error) {
	return LogLevelReport{Version: 1, Level: "info"}, nil
}

func (o *operationsStub) changeLogLevel(level string) (LogLevelReport, error) {
	return LogLevelReport{Version: 1, Level: level}, nil
}

func (o *operationsStub) restart(name string) error {
	o.restarted++
	if name != "a/b c" {
		return errors.New("no such server: " + name)
	}
	return nil
}

func TestControl(t *testing.T) {
	dir := filepath.Join(shortDir(t), "run")
	client := NewControlClient(dir)
	if _, err := client.Service(t.Context()); !errors.Is(err, ErrNotRunning) || ExitCode(err) != ExitNotRunning {
		t.Fatalf("before: %v", err)
	}
	listener, release, err := listenControl(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ops := &operationsStub{}
	ctl := startControl(listener, ops, zap.NewNop())
	if _, _, err := listenControl(t.Context(), dir); !errors.Is(err, ErrAlreadyRunning) {
		t.Errorf("a second service in the same folder: %v", err)
	}
	if r, err := client.Service(t.Context()); err != nil || r.PID != 7 {
		t.Errorf("%v %v", r, err)
	}
	if r, err := client.Computers(t.Context()); err != nil || r.Computers == nil {
		t.Errorf("%v %v", r, err)
	}
	if r, err := client.Reload(t.Context()); err != nil || len(r.Servers) != 1 || ops.reloaded != 1 {
		t.Errorf("%v %v", r, err)
	}
	if _, err := client.Restart(t.Context(), "a/b c"); err != nil {
		t.Error(err)
	}
	if _, err := client.Restart(t.Context(), "b"); err == nil || err.Error() != "no such server: b" {
		t.Errorf("%v", err)
	}
	if r, err := client.Approve(t.Context(), "x@1"); err != nil || r.Pending[0].Name != "x@1" {
		t.Errorf("%v %v", r, err)
	}
	if _, err := client.Approve(t.Context(), ""); !errors.Is(err, ErrUsage) || err.Error() != "nothing waits" {
		t.Errorf("%v", err)
	}
	if r, err := client.Events(t.Context(), 6); err != nil || len(r.Events) != 1 || r.Events[0].Seq != 7 {
		t.Errorf("%v %v", r, err)
	}
	if r, err := client.Pending(t.Context()); err != nil || r.Version != 1 {
		t.Errorf("%v %v", r, err)
	}
	if w, err := client.AddWorkspace(t.Context(), Workspace{Path: "/x", Approve: true}); err != nil || w.Path != "/x" || !w.Approve {
		t.Errorf("%v %v", w, err)
	}
	if w, err := client.RemoveWorkspace(t.Context(), "/x"); err != nil || w.Path != "/x" {
		t.Errorf("%v %v", w, err)
	}
	if r, err := client.ChangePassword(t.Context(), mcpconfig.NewSecret("new"), time.Minute); err != nil || !r.Changed || r.OverlapSeconds != 60 {
		t.Errorf("%v %v", r, err)
	}
	if _, err := client.Workspaces(t.Context()); err == nil || ExitCode(err) != ExitProblems {
		t.Errorf("%v", err)
	}
	if err := ctl.close(t.Context()); err != nil {
		t.Error(err)
	}
	release()
	if _, err := client.Service(t.Context()); !errors.Is(err, ErrNotRunning) {
		t.Errorf("after: %v", err)
	}
}

// A killed service leaves its socket behind; the next one starts all the same.
func TestControlTakesOverAStaleSocket(t *testing.T) {
	dir := shortDir(t)
	if err := os.WriteFile(filepath.Join(dir, "control.sock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	listener, release, err := listenControl(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
}

func TestControlRefusesAFolderThatOthersCanWrite(t *testing.T) {
	dir := shortDir(t)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, _, err := listenControl(t.Context(), dir); !errors.Is(err, ErrSettings) || !strings.Contains(err.Error(), "TRAPOS_RUNTIME_DIR") {
		t.Errorf("got %v", err)
	}
}

func TestControlRefusesAPathThatIsTooLong(t *testing.T) {
	dir := filepath.Join(shortDir(t), strings.Repeat("x", 120))
	if _, _, err := listenControl(t.Context(), dir); !errors.Is(err, ErrSettings) || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("got %v", err)
	}
}
