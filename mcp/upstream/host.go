package upstream

import (
	"crypto/rand"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcpconfig"
)

// host is what the children of one Reconciler share: where commands are found, and the run file. Safe for concurrent use.
type host struct {
	environ func() []string
	log     *zap.Logger
	run     string // begins the marker of every child
	file    *runFile
	login   *loginPath
	closing chan struct{} // closed when all children are to end
	ending  sync.Once

	mu     sync.Mutex
	warned map[string]bool // servers that were told to write their type
}

func newHost(o Options) *host {
	h := &host{environ: o.Environ, log: o.Logger, run: rand.Text(), closing: make(chan struct{}), warned: map[string]bool{}}
	h.login = newLoginPath(h.run + loginMarker)
	h.file = openRunFile(o.RunDir, h.run, o.Logger)
	return h
}

// close ends what the host runs itself; after the last child.
func (h *host) close() {
	h.ending.Do(func() {
		h.login.close()
		h.file.close()
	})
}

// born notes a child in the run file until it is gone.
func (h *host) born(p *process) { h.file.add(p) }

// warnInferred says once per entry that its type is missing and which one is right.
func (h *host) warnInferred(server mcpconfig.Server, log *zap.Logger) {
	h.mu.Lock()
	said := h.warned[server.ID()]
	h.warned[server.ID()] = true
	h.mu.Unlock()
	if !said {
		log.Warn(`the url speaks Streamable HTTP: write "type": "http" in the entry, which has none`)
	}
}

// command makes out what is to be started for a server, and with which environment.
func (h *host) command(server mcpconfig.Server) (command, error) {
	env := environment(h.environ(), server.Env)
	named := server.Command.Reveal()
	own := slices.ContainsFunc(server.Env, func(v mcpconfig.EnvVar) bool { return sameVariable(v.Name, "PATH") && !v.Unset })
	folders := filepath.SplitList(valueOf(env, "PATH"))
	if !own {
		_, err := find(named, folders, false)
		folders = h.searchFolders(env, folders, err == nil)
	}
	path, err := find(named, folders, own)
	if err != nil {
		return command{}, err
	}
	if !own {
		env = setVariable(env, "PATH", strings.Join(withFolderOf(path, folders), string(filepath.ListSeparator)))
	}
	dir := h.folder(server, env)
	if dir != "" && !isFolder(dir) { // the system would blame the command
		return command{}, failf(nil, "its working folder (cwd) does not exist")
	}
	c := command{env: env, dir: dir, marker: h.run + "." + rand.Text()}
	args := make([]string, len(server.Args))
	for i, a := range server.Args {
		args[i] = a.Reveal()
	}
	c.path, c.args, err = wrapCommand(path, args)
	return c, err
}

// folder is where a server runs: its cwd, else the root of its workspace, else the home folder.
func (h *host) folder(server mcpconfig.Server, env []string) string {
	for _, dir := range []string{server.Cwd.Reveal(), server.Source.Workspace, valueOf(env, homeVariable)} {
		if dir != "" {
			return dir
		}
	}
	return ""
}

// environment is base with an entry's variables set or taken away.
func environment(base []string, entry []mcpconfig.EnvVar) []string {
	env := slices.Clone(base)
	for _, v := range entry {
		if v.Unset {
			env = slices.DeleteFunc(env, func(pair string) bool { return isVariable(pair, v.Name) })
			continue
		}
		env = setVariable(env, v.Name, v.Value.Reveal())
	}
	return env
}

func setVariable(env []string, name, value string) []string {
	env = slices.DeleteFunc(env, func(pair string) bool { return isVariable(pair, name) })
	return append(env, name+"="+value)
}

func valueOf(env []string, name string) string {
	for _, pair := range slices.Backward(env) { // the last one counts, as for os/exec
		if isVariable(pair, name) {
			return pair[len(name)+1:]
		}
	}
	return ""
}

func isVariable(pair, name string) bool {
	return len(pair) > len(name) && pair[len(name)] == '=' && sameVariable(pair[:len(name)], name)
}

// sameVariable compares names as the system does.
func sameVariable(a, b string) bool {
	if foldsVariables {
		return strings.EqualFold(a, b)
	}
	return a == b
}
