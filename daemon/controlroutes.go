package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/traposd/traposd/mcpconfig"
)

// operations is what control can ask of the service.
type operations interface {
	serviceReport() ServiceReport
	statusReport() StatusReport
	serversReport() ServersReport
	computersReport() ComputersReport
	pendingReport() PendingReport
	workspacesReport() (WorkspacesReport, error)
	eventsReport(after uint64) EventsReport
	logLevelReport() (LogLevelReport, error)

	reload(ctx context.Context) error
	restart(name string) error
	approve(ctx context.Context, name string) (PendingReport, error)
	addWorkspace(ctx context.Context, dir string, approve bool) (Workspace, error)
	removeWorkspace(ctx context.Context, dir string) (Workspace, error)
	changeLogLevel(level string) (LogLevelReport, error)
	changePassword(ctx context.Context, secret mcpconfig.Secret, overlap time.Duration) (PasswordReport, error)
}

// workspaceRequest is the body of a change to the stored workspaces.
type workspaceRequest struct {
	Path    string `json:"path"`
	Approve bool   `json:"approve"`
}

// approveRequest is the body of a consent; an empty name means all.
type approveRequest struct {
	Name string `json:"name"`
}

func controlRoutes(ops operations) http.Handler {
	mux := http.NewServeMux()
	get := func(path string, report func() (any, error)) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			r, err := report()
			respond(w, r, err)
		})
	}
	get("/v1/service", func() (any, error) { return ops.serviceReport(), nil })
	get("/v1/status", func() (any, error) { return ops.statusReport(), nil })
	get("/v1/servers", func() (any, error) { return ops.serversReport(), nil })
	get("/v1/computers", func() (any, error) { return ops.computersReport(), nil })
	get("/v1/approvals", func() (any, error) { return ops.pendingReport(), nil })
	get("/v1/workspaces", func() (any, error) { return ops.workspacesReport() })
	get("/v1/log-level", func() (any, error) { return ops.logLevelReport() })
	mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, r *http.Request) {
		after, err := strconv.ParseUint(r.URL.Query().Get("after"), 10, 64)
		if err != nil {
			err = failf(ErrUsage, "after must be the number of an event")
		}
		respond(w, ops.eventsReport(after), err)
	})
	mux.HandleFunc("POST /v1/reload", func(w http.ResponseWriter, r *http.Request) {
		err := ops.reload(r.Context())
		respond(w, ops.serversReport(), err)
	})
	mux.HandleFunc("POST /v1/servers/{name}/restart", func(w http.ResponseWriter, r *http.Request) {
		err := ops.restart(r.PathValue("name"))
		respond(w, ops.serversReport(), err)
	})
	mux.HandleFunc("POST /v1/approvals", func(w http.ResponseWriter, r *http.Request) {
		withBody(w, r, func(ctx context.Context, body approveRequest) (any, error) { return ops.approve(ctx, body.Name) })
	})
	mux.HandleFunc("POST /v1/workspaces", func(w http.ResponseWriter, r *http.Request) {
		withBody(w, r, func(ctx context.Context, body workspaceRequest) (any, error) {
			return ops.addWorkspace(ctx, body.Path, body.Approve)
		})
	})
	mux.HandleFunc("POST /v1/log-level", func(w http.ResponseWriter, r *http.Request) {
		withBody(w, r, func(_ context.Context, body logLevelRequest) (any, error) { return ops.changeLogLevel(body.Level) })
	})
	mux.HandleFunc("POST /v1/password", func(w http.ResponseWriter, r *http.Request) {
		withBody(w, r, func(ctx context.Context, body passwordRequest) (any, error) {
			return ops.changePassword(ctx, mcpconfig.NewSecret(body.Password), time.Duration(body.OverlapSeconds)*time.Second)
		})
	})
	mux.HandleFunc("DELETE /v1/workspaces", func(w http.ResponseWriter, r *http.Request) {
		withBody(w, r, func(ctx context.Context, body workspaceRequest) (any, error) {
			return ops.removeWorkspace(ctx, body.Path)
		})
	})
	return mux
}

func withBody[T any](w http.ResponseWriter, r *http.Request, do func(context.Context, T) (any, error)) {
	var body T
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&body); err != nil {
		respond(w, nil, failf(ErrUsage, "the request's body is not what this command takes; are the program and the service of one version?"))
		return
	}
	answer, err := do(r.Context(), body)
	respond(w, answer, err)
}

// respond answers with the report, or with the error's sentence; its status tells the client which exit code it has.
func respond(w http.ResponseWriter, report any, err error) {
	switch {
	case errors.Is(err, ErrUsage):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case err != nil:
		http.Error(w, err.Error(), http.StatusConflict)
	default:
		w.Header().Set("Content-Type", "application/json")
		// The peer may have gone; there is nobody else to tell.
		_ = json.NewEncoder(w).Encode(report)
	}
}
