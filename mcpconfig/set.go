package mcpconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
)

// Set is what all files together configure. It is immutable; what its methods return is the caller's own. The zero Set
// holds nothing.
//
// Sources are ordered by precedence: what the host supplies, the workspaces in the order given, the global file; and the
// servers within each by name. A workspace's view is: supplied, then that workspace, then global. In a view the first
// entry of a name hides the weaker ones, also when it is invalid or disabled.
type Set struct {
	sources []source
	views   []view // one for each workspace
	base    []int  // the layers of a view without a workspace, as indices of sources
	watch   []string
}

// source is one file's part of a Set.
type source struct {
	status  FileStatus
	servers []Server // sorted by name
}

// view is what a client in one workspace sees: indices of sources, strongest first.
type view struct {
	root   string
	layers []int
}

// good returns the last good version of a server; of no source there is none.
func (s *source) good(name string) (Server, bool) {
	if s == nil {
		return Server{}, false
	}
	i, found := slices.BinarySearchFunc(s.servers, name, func(s Server, name string) int { return strings.Compare(s.Name, name) })
	if !found || s.servers[i].Invalid {
		return Server{}, false
	}
	return s.servers[i], true
}

// finish works out who hides whom.
func (s *Set) finish() {
	slices.Sort(s.watch)
	s.watch = slices.Compact(s.watch)
	strongest := make(map[string]*namesakes, s.count())
	all := make([]namesakes, 0, s.count()) // its memory
	for server := range s.each() {
		server.Hidden, server.Shadows, server.ShadowedBy = true, nil, Source{}
		same := strongest[server.Name]
		if same == nil {
			all = append(all, namesakes{first: server})
			strongest[server.Name] = &all[len(all)-1]
			continue
		}
		server.ShadowedBy = same.first.Source
		same.first.Shadows = append(same.first.Shadows, server.Source)
		for _, stronger := range same.others {
			stronger.Shadows = append(stronger.Shadows, server.Source)
		}
		same.others = append(same.others, server)
	}
	views := s.views
	if len(views) == 0 {
		views = []view{{layers: s.base}}
	}
	for i, v := range views {
		for _, layer := range v.layers {
			servers := s.sources[layer].servers
			for j := range servers {
				if same := strongest[servers[j].Name]; same.seen <= i {
					same.seen = i + 1
					servers[j].Hidden = false
				}
			}
		}
	}
}

// namesakes are the entries of one name. Mostly there is one.
type namesakes struct {
	first  *Server // the strongest
	others []*Server
	seen   int // the number of the last view, from 1, that has one of them
}

// count returns how many entries there are.
func (s Set) count() int {
	n := 0
	for i := range s.sources {
		n += len(s.sources[i].servers)
	}
	return n
}

// walk calls visit for the strongest entry of each name in layers, in order.
func (s Set) walk(layers []int, visit func(*Server)) {
	if len(layers) == 1 { // names differ within a source
		layer := s.sources[layers[0]].servers
		for i := range layer {
			visit(&layer[i])
		}
		return
	}
	seen := make(map[string]bool, s.count())
	for _, layer := range layers {
		servers := s.sources[layer].servers
		for i := range servers {
			if !seen[servers[i].Name] {
				seen[servers[i].Name] = true
				visit(&servers[i])
			}
		}
	}
}

func (s Set) runnable(layers []int) []Server {
	var servers []Server
	s.walk(layers, func(server *Server) {
		if server.Runnable() {
			servers = append(servers, *server)
		}
	})
	return servers
}

// every returns the indices of all sources.
func (s Set) every() []int {
	layers := make([]int, len(s.sources))
	for i := range layers {
		layers[i] = i
	}
	return layers
}

// Servers returns the servers to run: those that are neither disabled nor invalid and that some view has, in order of
// precedence. One name can be in it several times, for several workspaces.
func (s Set) Servers() []Server {
	var servers []Server
	for server := range s.each() {
		if server.Runnable() {
			servers = append(servers, *server)
		}
	}
	return servers
}

// each walks the entries in order of precedence.
func (s Set) each() iter.Seq[*Server] {
	return func(yield func(*Server) bool) {
		for _, source := range s.sources {
			for i := range source.servers {
				if !yield(&source.servers[i]) {
					return
				}
			}
		}
	}
}

// All returns every entry, those that are disabled, invalid or hidden included, in order of precedence.
func (s Set) All() []Server {
	all := make([]Server, 0, s.count())
	for _, source := range s.sources {
		all = append(all, source.servers...)
	}
	return all
}

// Lookup returns the strongest entry of that name, in whatever state it is.
func (s Set) Lookup(name string) (Server, bool) {
	for server := range s.each() {
		if server.Name == name {
			return *server, true
		}
	}
	return Server{}, false
}

// View returns the servers that a client in that workspace has. For a root that is none of the workspaces it is what is
// supplied and what is global, without what every workspace hides: that is not run.
func (s Set) View(workspaceRoot string) []Server {
	root := absolute(workspaceRoot)
	for _, v := range s.views {
		if v.root == root {
			return s.runnable(v.layers)
		}
	}
	return s.runnable(s.base)
}

// Merged returns the servers that /mcp shows: one for each name, the workspaces merged in the order given.
func (s Set) Merged() []Server { return s.runnable(s.every()) }

// Sources returns what became of each file, in order of precedence. A file that was reached twice is in it once.
func (s Set) Sources() []FileStatus {
	statuses := make([]FileStatus, 0, len(s.sources))
	for _, source := range s.sources {
		if source.status.Path != "" {
			statuses = append(statuses, source.status)
		}
	}
	return statuses
}

// WatchPaths returns every path whose change can change the result, existing or not: configuration files and envFiles,
// sorted.
func (s Set) WatchPaths() []string { return slices.Clone(s.watch) }

// Equal tells whether both configure the same: the same workspaces and the same servers in the same states. Formatting,
// comments, the order of keys and positions do not matter, nor whether a version is the last good one.
func (s Set) Equal(other Set) bool {
	return slices.EqualFunc(s.views, other.views, func(a, b view) bool { return a.root == b.root }) &&
		slices.EqualFunc(slices.Collect(s.each()), slices.Collect(other.each()), func(a, b *Server) bool {
			return a.Equal(*b) && a.Hidden == b.Hidden && a.ShadowedBy.Path == b.ShadowedBy.Path &&
				a.Source.Scope == b.Source.Scope && a.Source.Workspace == b.Source.Workspace
		})
}

// String counts what is in the Set.
func (s Set) String() string {
	return fmt.Sprintf("%d servers from %d files, %d to run", len(s.All()), len(s.Sources()), len(s.Servers()))
}

// Format writes what String returns, for every verb.
func (s Set) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalJSON writes the servers of All, their values redacted.
func (s Set) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Servers []Server `json:"servers"`
	}{s.All()})
}

func contentHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
