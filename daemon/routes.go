package daemon

import (
	"net/http"
	"strings"
)

// mcpPath is where the listener serves all that there is; views are below it.
const mcpPath = "/mcp"

// routes are what answers on the listener's port. Nothing is answered before the guard has let it through, a redirect
// included: that is why this is no http.ServeMux, which cleans a path like //mcp by a redirect of its own.
type routes struct {
	all      http.Handler // guards itself
	views    http.Handler
	metrics  http.Handler
	notFound http.Handler

	page, pageData    http.Handler // the data wants the token, the page that asks for it does not
	health, readiness http.Handler
}

func (d *Daemon) routes() routes {
	return routes{
		all: d.listener, views: d.listener.Guard(d.offers),
		metrics: d.listener.Guard(d.metrics.handler()), notFound: d.listener.Guard(http.NotFoundHandler()),
		page: d.listener.GuardPublic(d.page), pageData: d.listener.Guard(d.page),
		health:    d.listener.GuardPublic(http.HandlerFunc(d.serveHealth)),
		readiness: d.listener.GuardPublic(http.HandlerFunc(d.serveReadiness)),
	}
}

func (t routes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case path == mcpPath, path == mcpPath+"/":
		t.all.ServeHTTP(w, r)
	case strings.HasPrefix(path, mcpPath+"/"):
		t.views.ServeHTTP(w, r)
	case r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions:
		t.shown(path).ServeHTTP(w, r)
	default:
		t.notFound.ServeHTTP(w, r)
	}
}

// shown are the routes that can be read and no more.
func (t routes) shown(path string) http.Handler {
	switch {
	case path == "/metrics":
		return t.metrics
	case path == "/healthz":
		return t.health
	case path == "/readyz":
		return t.readiness
	case path == "/ui/live", path == "/ui/screen":
		return t.pageData
	case path == "/", strings.HasPrefix(path, "/ui/"):
		return t.page
	}
	return t.notFound
}
