package daemon

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestRoutes(t *testing.T) {
	says := func(what string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, what) })
	}
	table := routes{
		all: says("all"), views: says("view"), metrics: says("metrics"), notFound: says("nothing"),
		page: says("page"), pageData: says("data"), health: says("health"), readiness: says("readiness"),
	}
	for _, row := range []struct{ method, target, want string }{
		{"POST", "/mcp", "all"},
		{"POST", "/mcp/", "all"},
		{"GET", "/mcp?compact", "all"},
		{"POST", "/mcp/w/x", "view"},
		{"POST", "/mcp/s/a%2Fb", "view"},
		{"POST", "/mcpx", "nothing"},
		{"POST", "//mcp", "nothing"},
		{"POST", "/x/../mcp", "nothing"},
		{"GET", "/metrics", "metrics"},
		{"POST", "/metrics", "nothing"},
		{"GET", "/", "page"},
		{"POST", "/", "nothing"},
		{"GET", "/ui/page.css", "page"},
		{"GET", "/ui/live", "data"},
		{"HEAD", "/ui/screen?network=x", "data"},
		{"GET", "/healthz", "health"},
		{"GET", "/readyz", "readiness"},
		{"GET", "/index.html", "nothing"},
		{"OPTIONS", "*", "nothing"},
	} {
		w := httptest.NewRecorder()
		table.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), row.method, row.target, http.NoBody))
		if got := w.Body.String(); w.Code != http.StatusOK || got != row.want {
			t.Errorf("%s %s: %d %s, want %s", row.method, row.target, w.Code, got, row.want)
		}
	}
}
