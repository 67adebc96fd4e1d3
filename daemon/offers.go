package daemon

import (
	"net/http"
	"strings"
	"sync"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcpconfig"
)

// offers is what the catalogues are made of: the computer tools, and what the running servers offer. The listener's own
// catalogue, served at /mcp, is the merge of all workspaces; each workspace and each server has a view of its own.
type offers struct {
	catalogue *mcp.Catalogue
	computers []mcp.Entry
	serve     func(*mcp.Catalogue) http.Handler // begins a view
	drop      func(*mcp.Catalogue)              // ends one

	mu      sync.Mutex
	entries []mcp.Entry // guarded by mu: what runs
	views   views       // guarded by mu: what is configured
	filters filters     // guarded by mu: what of it clients see
	served  map[string]servedView
}

// servedView is one view that can be asked for.
type servedView struct {
	catalogue *mcp.Catalogue
	handler   http.Handler
}

func newOffers(listener *mcp.Listener, catalogue *mcp.Catalogue, computers []mcp.Entry) *offers {
	o := &offers{
		catalogue: catalogue, computers: computers, serve: listener.View, drop: listener.Drop, served: map[string]servedView{},
		filters: filters{closed: "settings that are not read yet"},
	}
	o.publish()
	return o
}

// running takes what the servers offer now.
func (o *offers) running(entries []mcp.Entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.entries = entries
	o.publish()
}

// configured takes what may be asked for now. Views that are not configured any more end.
func (o *offers) configured(set mcpconfig.Set, workspaces []Workspace, filters filters) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.views, o.filters = newViews(set, workspaces), filters
	for path, view := range o.served {
		if _, still := o.views.paths[path]; !still {
			o.drop(view.catalogue)
			delete(o.served, path)
		}
	}
	o.publish()
}

// publish replaces what the catalogues hold; its caller holds mu, so that the newest comes last. Nothing in it blocks.
func (o *offers) publish() {
	merged := append(append([]mcp.Entry(nil), o.computers...), o.of(o.views.merged)...)
	o.catalogue.Set(merged, o.filters.lenses(o.views, mcpPath)...)
	for path, view := range o.served {
		view.catalogue.Set(o.entriesOf(path), o.filters.lenses(o.views, path)...)
	}
}

// of are the running ones of the servers with these IDs.
func (o *offers) of(ids map[string]bool) []mcp.Entry {
	var out []mcp.Entry
	for _, e := range o.entries {
		if ids[e.ID] {
			out = append(out, e)
		}
	}
	return out
}

// entriesOf are those of one view: a workspace's with the computer tools, a single server's by their own names.
func (o *offers) entriesOf(path string) []mcp.Entry {
	view := o.views.paths[path]
	entries := o.of(view.ids)
	if view.single {
		for i := range entries {
			entries[i].Name = ""
		}
		return entries
	}
	return append(append([]mcp.Entry(nil), o.computers...), entries...)
}

// view returns the handler of a view, which begins when it is first asked for; nil if none is configured at that path.
func (o *offers) view(path string) http.Handler {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, configured := o.views.paths[path]; !configured {
		return nil
	}
	served, begun := o.served[path]
	if !begun {
		served.catalogue = mcp.NewCatalogue()
		served.catalogue.Set(o.entriesOf(path), o.filters.lenses(o.views, path)...)
		served.handler = o.serve(served.catalogue)
		o.served[path] = served
	}
	return served.handler
}

// ServeHTTP serves the views at their paths.
func (o *offers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, path := range []string{r.URL.Path, strings.TrimSuffix(r.URL.Path, "/")} {
		if h := o.view(path); h != nil {
			h.ServeHTTP(w, r)
			return
		}
	}
	http.Error(w, "no such view: /mcp serves all, /mcp/w/WORKSPACE one workspace, /mcp/s/SERVER one server; see `traposd status`", http.StatusNotFound)
}
