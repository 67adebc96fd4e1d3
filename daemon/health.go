package daemon

import (
	"context"
	"io"
	"net/http"

	"github.com/traposd/traposd/daemon/page"
)

func newPage(d *Daemon) *page.Page {
	options := page.Options{Status: func() any { return d.statusReport() }, Events: d.events}
	if d.computers != nil {
		options.Screen = func(ctx context.Context, network, traposID string) ([]byte, error) {
			return d.computers.Picture(ctx, network, traposID)
		}
	}
	return page.New(options)
}

// serveHealth answers 200 as long as the process can answer at all.
func (d *Daemon) serveHealth(w http.ResponseWriter, _ *http.Request) { sayLine(w, http.StatusOK, "ok") }

// serveReadiness answers 200 when the configuration has been read and is being applied, else 503. A server that fails does
// not make the service unready: the others are served.
func (d *Daemon) serveReadiness(w http.ResponseWriter, _ *http.Request) {
	select {
	case <-d.ready:
		sayLine(w, http.StatusOK, "ready")
	default:
		sayLine(w, http.StatusServiceUnavailable, "starting")
	}
}

func sayLine(w http.ResponseWriter, status int, line string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, line+"\n") // the asker may have gone
}
