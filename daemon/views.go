package daemon

import (
	"path/filepath"
	"strconv"

	"github.com/traposd/traposd/mcpconfig"
)

// views say what each path of the listener shows, by server IDs.
type views struct {
	merged     map[string]bool   // /mcp
	paths      map[string]view   // /mcp/w/…, /mcp/s/…, unescaped
	names      map[string]string // of the servers
	workspaces []workspaceView   // in their order
}

type view struct {
	ids    map[string]bool
	single bool // one server, whose names have no prefix
}

// workspaceView is one workspace's part of the servers.
type workspaceView struct {
	name, path string // the name is that in paths of the listener
	ids        map[string]bool
}

// newViews lays out the paths: /mcp/w/NAME is the workspace whose folder has that name (of several, the later ones are
// NAME-2, NAME-3, … in the order of the workspaces), /mcp/s/NAME is the server that /mcp shows under that name.
func newViews(set mcpconfig.Set, workspaces []Workspace) views {
	v := views{
		merged: map[string]bool{}, paths: map[string]view{}, names: map[string]string{},
		workspaces: workspaceViews(set, workspaces),
	}
	for _, s := range set.Servers() {
		v.names[s.ID()] = s.Name
	}
	for _, s := range set.Merged() {
		v.merged[s.ID()] = true
		v.paths["/mcp/s/"+s.Name] = view{ids: map[string]bool{s.ID(): true}, single: true}
	}
	for _, w := range v.workspaces {
		v.paths[workspacePath+w.name] = view{ids: w.ids}
	}
	return v
}

const workspacePath = "/mcp/w/"

func workspaceViews(set mcpconfig.Set, workspaces []Workspace) []workspaceView {
	all := make([]workspaceView, 0, len(workspaces))
	for i, name := range workspaceNames(workspaces) {
		w := workspaceView{name: name, path: workspaces[i].Path, ids: map[string]bool{}}
		for _, s := range set.View(w.path) {
			w.ids[s.ID()] = true
		}
		all = append(all, w)
	}
	return all
}

// workspacesAt are the workspaces that a path shows something of: one, or all.
func (v views) workspacesAt(path string) []workspaceView {
	for i, w := range v.workspaces {
		if path == workspacePath+w.name {
			return v.workspaces[i : i+1]
		}
	}
	return v.workspaces
}

// serverOf tells whose ID that is; what is not configured is ours.
func (v views) serverOf(id string) serverOf {
	name, configured := v.names[id]
	return serverOf{computers: !configured, name: name}
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
