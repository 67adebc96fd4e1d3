package daemon

import (
	"sync"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcpconfig"
)

// offers is what the catalogue is made of: the computer tools, and of the running servers those that /mcp shows. A server
// that is visible in one workspace's own view only runs, but a stronger workspace's of the same name hides it here.
type offers struct {
	catalogue *mcp.Catalogue
	computers []mcp.Entry

	mu      sync.Mutex
	entries []mcp.Entry     // guarded by mu: what runs
	visible map[string]bool // guarded by mu: by server ID
}

func newOffers(catalogue *mcp.Catalogue, computers []mcp.Entry) *offers {
	o := &offers{catalogue: catalogue, computers: computers}
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

// merged takes the servers that /mcp shows.
func (o *offers) merged(servers []mcpconfig.Server) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.visible = make(map[string]bool, len(servers))
	for _, s := range servers {
		o.visible[s.ID()] = true
	}
	o.publish()
}

// publish replaces the catalogue's content; its caller holds mu, so that the newest comes last. Set does not block.
func (o *offers) publish() {
	shown := append([]mcp.Entry(nil), o.computers...)
	for _, e := range o.entries {
		if o.visible[e.ID] {
			shown = append(shown, e)
		}
	}
	o.catalogue.Set(shown)
}
