// Package page serves the status page: a picture of the service in the browser, live over server-sent events. It only
// shows. What one could do stands there as a command to copy, since a page must not be able to start a process.
package page

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"sync"
	"time"

	"github.com/traposd/traposd/daemon/recent"
)

const (
	maxViewers = 16                     // that watch at once
	lookDelay  = 500 * time.Millisecond // between two looks at the status, while anybody watches
	aliveDelay = 15 * time.Second       // between two comments on a stream that has nothing to say
	writeLimit = 10 * time.Second       // for a viewer to take what is written
)

//go:embed static
var static embed.FS

// policy allows what the page itself brings along, and nothing else (Content Security Policy Level 3).
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Options are what a Page shows.
type Options struct {
	Status func() any // what `traposd status --json` prints; called at most twice a second
	Events *recent.Events
	Screen func(ctx context.Context, network, traposID string) ([]byte, error) // a computer's screen as PNG; nil: none are shown
}

// Page is an http.Handler for "/" and what is below "/ui/". Closing ends its streams.
type Page struct {
	options Options
	mux     *http.ServeMux
	closed  context.Context // ends by Close
	end     context.CancelFunc

	writeLimit time.Duration // writeLimit

	mu      sync.Mutex
	closing bool
	viewers int
	group   sync.WaitGroup
}

// New returns a page.
func New(o Options) *Page {
	p := &Page{options: o, mux: http.NewServeMux(), writeLimit: writeLimit}
	p.closed, p.end = context.WithCancel(context.Background())
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	p.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, "page.html") })
	p.mux.Handle("GET /ui/", http.StripPrefix("/ui/", http.FileServerFS(files)))
	p.mux.HandleFunc("GET /ui/live", p.live)
	p.mux.HandleFunc("GET /ui/screen", p.screen)
	return p
}

// ServeHTTP answers one request; the caller has guarded it.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
	p.mux.ServeHTTP(w, r)
}

// Close ends the streams, also those whose viewers take nothing, lets no more begin, and waits for them.
func (p *Page) Close() {
	p.mu.Lock()
	if !p.closing {
		p.closing = true
		p.end()
	}
	p.mu.Unlock()
	p.group.Wait()
}

func (p *Page) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing || p.viewers >= maxViewers {
		return false
	}
	p.viewers++
	p.group.Add(1)
	return true
}

func (p *Page) leave() {
	p.mu.Lock()
	p.viewers--
	p.mu.Unlock()
	p.group.Done()
}

// live sends the status whenever it has changed, and the log entries as they come.
func (p *Page) live(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		http.Error(w, fmt.Sprintf("%d pages are open, which is the limit", maxViewers), http.StatusServiceUnavailable)
		return
	}
	defer p.leave()
	w.Header().Set("Content-Type", "text/event-stream")
	s := &stream{w: w, rc: http.NewResponseController(w), limit: p.writeLimit}
	defer s.cutWhenDone(p.closed)()
	look, alive := time.NewTicker(lookDelay), time.NewTicker(aliveDelay)
	defer look.Stop()
	defer alive.Stop()
	var shown []byte
	var seq uint64
	for {
		status, err := json.Marshal(p.options.Status())
		if err == nil && !bytes.Equal(status, shown) {
			shown = status
			err = s.send("status", status)
		}
		news := p.options.Events.After(seq)
		if err == nil && len(news) > 0 {
			seq = news[len(news)-1].Seq
			var text []byte
			if text, err = json.Marshal(news); err == nil {
				err = s.send("events", text)
			}
		}
		if err != nil {
			return // the viewer has gone
		}
		select {
		case <-look.C:
		case <-alive.C:
			if s.send("alive", []byte("{}")) != nil {
				return
			}
		case <-r.Context().Done():
			return
		case <-p.closed.Done():
			return
		}
	}
}

// stream writes server-sent events (HTML, section 9.2).
type stream struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	limit time.Duration // of one write

	mu  sync.Mutex
	cut bool // nothing more is written
}

// cutWhenDone ends the stream when ctx does, a write that is stuck included. The function that it returns is to be called
// last, and waits.
func (s *stream) cutWhenDone(ctx context.Context) func() {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cut = true
		_ = s.rc.SetWriteDeadline(time.Now())
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

// begin gives the next write its time.
func (s *stream) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut {
		return errClosed
	}
	_ = s.rc.SetWriteDeadline(time.Now().Add(s.limit)) // not every connection has deadlines
	return nil
}

var errClosed = errors.New("the page is closed")

func (s *stream) send(event string, data []byte) error {
	if err := s.begin(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", event, data); err != nil {
		return err
	}
	return s.rc.Flush()
}

func (p *Page) screen(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if p.options.Screen == nil {
		http.Error(w, "there is no gateway", http.StatusNotFound)
		return
	}
	picture, err := p.options.Screen(r.Context(), query.Get("network"), query.Get("computer"))
	if err != nil {
		http.Error(w, "the computer does not show its screen", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "image/png")
	_, _ = w.Write(picture) // the viewer may have gone
}
