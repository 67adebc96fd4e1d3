package daemon

import (
	"path/filepath"
	"strconv"

	"github.com/traposd/traposd/mcpconfig"
)

// views say what each path of the listener shows, by server IDs.
type views struct {
	merged map[string]bool // /mcp
	paths  map[string]view // /mcp/w/…, /mcp/s/…, unescaped
}

type view struct {
	ids    map[string]bool
	single bool // one server, whose names have no prefix
}

// newViews lays out the paths: /mcp/w/NAME is the workspace whose folder has that name (of several, the later ones are
// NAME-2, NAME-3, … in the order of the workspaces), /mcp/s/NAME is the server that /mcp shows under that name.
func newViews(set mcpconfig.Set, workspaces []Workspace) views {
	v := views{merged: map[string]bool{}, paths: map[string]view{}}
	for _, s := range set.Merged() {
		v.merged[s.ID()] = true
		v.paths["/mcp/s/"+s.Name] = view{ids: map[string]bool{s.ID(): true}, single: true}
	}
	for i, name := range workspaceNames(workspaces) {
		ids := map[string]bool{}
		for _, s := range set.View(workspaces[i].Path) {
			ids[s.ID()] = true
		}
		v.paths["/mcp/w/"+name] = view{ids: ids}
	}
	return v
}

// workspaceNames are the names that workspaces have in paths, in their order.
func workspaceNames(workspaces []Workspace) []string {
	names, taken := make([]string, len(workspaces)), map[string]bool{}
	for i, w := range workspaces {
		base := filepath.Base(w.Path)
		name := base
		for n := 2; taken[name]; n++ {
			name = base + "-" + strconv.Itoa(n)
		}
		names[i], taken[name] = name, true
	}
	return names
}
