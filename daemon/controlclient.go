package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/traposd/traposd/mcpconfig"
)

// maxReportBytes bounds what a client reads of an answer.
const maxReportBytes = 64 << 20

// ControlClient asks the running service of one runtime folder. Its methods fail with ErrNotRunning if there is none.
type ControlClient struct {
	http       *http.Client
	runtimeDir string
}

// NewControlClient returns a client for the service of that runtime folder.
func NewControlClient(runtimeDir string) *ControlClient {
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := dialControl(ctx, runtimeDir)
			if err != nil {
				return nil, errors.Join(errDial, err)
			}
			return conn, nil
		},
	}
	return &ControlClient{http: &http.Client{Transport: transport, Timeout: controlTimeout + 5*time.Second}, runtimeDir: runtimeDir}
}

var errDial = errors.New("dial")

// Service says where the service can be reached.
func (c *ControlClient) Service(ctx context.Context) (r ServiceReport, err error) {
	return r, c.do(ctx, http.MethodGet, "/v1/service", &r)
}

// Status is all that can be asked, at one moment.
func (c *ControlClient) Status(ctx context.Context) (r StatusReport, err error) {
	return r, c.do(ctx, http.MethodGet, "/v1/status", &r)
}

// Servers lists the configured servers and the configuration's problems.
func (c *ControlClient) Servers(ctx context.Context) (r ServersReport, err error) {
	return r, c.do(ctx, http.MethodGet, "/v1/servers", &r)
}

// Computers lists the connected computers.
func (c *ControlClient) Computers(ctx context.Context) (r ComputersReport, err error) {
	return r, c.do(ctx, http.MethodGet, "/v1/computers", &r)
}

// Events are what the service remembers of its log after that sequence number, 200 at most.
func (c *ControlClient) Events(ctx context.Context, after uint64) (r EventsReport, err error) {
	return r, c.do(ctx, http.MethodGet, "/v1/events?after="+strconv.FormatUint(after, 10), &r)
}

// Reload has the configuration files read now, and returns when what they say is being carried out.
func (c *ControlClient) Reload(ctx context.Context) (r ServersReport, err error) {
	return r, c.do(ctx, http.MethodPost, "/v1/reload", &r)
}

// Restart stops and starts one server.
func (c *ControlClient) Restart(ctx context.Context, name string) (r ServersReport, err error) {
	return r, c.do(ctx, http.MethodPost, "/v1/servers/"+url.PathEscape(name)+"/restart", &r)
}

// Pending lists the entries that wait for approval.
func (c *ControlClient) Pending(ctx context.Context) (r PendingReport, err error) {
	return r, c.do(ctx, http.MethodGet, "/v1/approvals", &r)
}

// Approve consents to the entry of that name, NAME@HASH to the one that was shown, and "" to all. It returns what was
// approved.
func (c *ControlClient) Approve(ctx context.Context, name string) (r PendingReport, err error) {
	return r, c.send(ctx, http.MethodPost, "/v1/approvals", approveRequest{name}, &r)
}

// Workspaces is the stored list.
func (c *ControlClient) Workspaces(ctx context.Context) (r WorkspacesReport, err error) {
	return r, c.do(ctx, http.MethodGet, "/v1/workspaces", &r)
}

// AddWorkspace stores a workspace and has it served.
func (c *ControlClient) AddWorkspace(ctx context.Context, w Workspace) (r Workspace, err error) {
	return r, c.send(ctx, http.MethodPost, "/v1/workspaces", workspaceRequest(w), &r)
}

// RemoveWorkspace takes a workspace out of the stored list.
func (c *ControlClient) RemoveWorkspace(ctx context.Context, path string) (r Workspace, err error) {
	return r, c.send(ctx, http.MethodDelete, "/v1/workspaces", workspaceRequest{Path: path}, &r)
}

// LogLevel is from which level on the service logs.
func (c *ControlClient) LogLevel(ctx context.Context) (r LogLevelReport, err error) {
	return r, c.do(ctx, http.MethodGet, "/v1/log-level", &r)
}

// ChangeLogLevel has the service log from another level on, until it starts again.
func (c *ControlClient) ChangeLogLevel(ctx context.Context, level string) (r LogLevelReport, err error) {
	return r, c.send(ctx, http.MethodPost, "/v1/log-level", logLevelRequest{level}, &r)
}

// ChangePassword has the gateway ask for another secret; for overlap (whole seconds) the one before counts too.
func (c *ControlClient) ChangePassword(ctx context.Context, secret mcpconfig.Secret, overlap time.Duration) (r PasswordReport, err error) {
	return r, c.send(ctx, http.MethodPost, "/v1/password", passwordRequest{secret.Reveal(), int(overlap / time.Second)}, &r)
}

func (c *ControlClient) send(ctx context.Context, method, path string, body, report any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.exchange(ctx, method, path, bytes.NewReader(data), report)
}

func (c *ControlClient) do(ctx context.Context, method, path string, report any) error {
	return c.exchange(ctx, method, path, http.NoBody, report)
}

func (c *ControlClient) exchange(ctx context.Context, method, path string, requestBody io.Reader, report any) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://traposd"+path, requestBody)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if errors.Is(err, errDial) {
		return failf(ErrNotRunning, "the service is not running (nothing answers in %s): start it with `traposd start` if it is installed, or `traposd run`, "+
			"or set TRAPOS_RUNTIME_DIR to that of the one that runs", c.runtimeDir)
	}
	if err != nil {
		return fmt.Errorf("asking the service: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReportBytes))
	if err != nil {
		return fmt.Errorf("reading the service's answer: %w", err)
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return json.Unmarshal(body, report)
	case http.StatusBadRequest:
		return failf(ErrUsage, "%s", strings.TrimSpace(string(body)))
	}
	return errors.New(strings.TrimSpace(string(body)))
}
