package mcpconfig

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The names of the files that are read. No folder above a workspace is ever looked into.
const (
	WorkspaceFile = ".mcp.json" // in a workspace's root
	GlobalFile    = "mcp.json"  // in the global configuration directory
)

// Options says where to look and what is known of the machine.
type Options struct {
	Workspaces []string       // roots, strongest first; their file is WorkspaceFile
	GlobalDir  string         // the directory that holds GlobalFile; "" for none
	Servers    []Server       // given by the host in Go, stronger than all else; Name, Transport and its fields count
	Supplied   []SuppliedFile // given by the host as files, stronger than the workspaces, strongest first

	Getenv  func(string) (string, bool) // for ${VAR}; nil means os.LookupEnv
	HomeDir string                      // for ~, and what relative paths outside workspaces stand against; "" means os.UserHomeDir
	Self    []string                    // host:port of our own listeners: an entry whose url leads there is refused

	// LastGood makes Load forgiving: a broken file keeps that file's servers of LastGood, and a broken entry keeps its
	// version of that one server; the problems say so (KeptLastGood). With nil, what is invalid is off.
	LastGood *Set

	// Away, if not nil, says of a file that is not there whether it is away for a moment only, as in the middle of a save: its
	// servers of LastGood then go on, and that is no problem.
	Away func(path string) bool

	// Privileged refuses files that others can write, or that belong to somebody else than root and the service's user;
	// for a service that runs as root or under an account of its own. It has no effect on Windows.
	Privileged bool
}

// SuppliedFile is a file that the host hands over.
type SuppliedFile struct {
	Path string // names it in messages and identities; it is read if Data is nil
	Data []byte // its content, at most 4 MiB
	// Root is the key that holds the entries. "" means mcpServers, which then must be there; another key may be absent, and
	// so may a file that is to be read for it.
	Root string
}

// Load reads all files, and returns the servers they configure together with every problem found. It waits for nothing:
// only regular files of at most 4 MiB are read.
func Load(o Options) (Set, Problems) { return load(o, nil) }

// load reads files, each as if it were the one of a workspace, before what o says.
func load(o Options, files []string) (Set, Problems) {
	l := newLoader(o)
	l.hostServers()
	for _, f := range o.Supplied {
		l.supplied(f)
	}
	global := ""
	if o.GlobalDir != "" {
		global = filepath.Join(absolute(o.GlobalDir), GlobalFile)
	}
	for _, path := range files {
		path = absolute(path)
		if path == global {
			l.required = true
			continue
		}
		l.workspace(filepath.Dir(path), path, true)
	}
	for _, root := range o.Workspaces {
		if strings.TrimSpace(root) != "" {
			root = absolute(root)
			l.workspace(root, filepath.Join(root, WorkspaceFile), false)
		}
	}
	if global != "" {
		l.global(global)
	}
	l.set.finish()
	l.problems.sort()
	return l.set, l.problems
}

// loader gathers one Set.
type loader struct {
	Options
	set      Set
	problems Problems
	seen     []seenFile
	required bool // the global file was asked for by name
}

// seenFile remembers which file became which source, so that one reached twice stays one source.
type seenFile struct {
	info   fs.FileInfo
	root   string
	source int
}

// candidate is a file that may become a source.
type candidate struct {
	Source
	root     string // the key that holds the entries
	optional bool   // the key may be absent
	required bool   // the file may not be
	data     []byte // if not nil, the content; there is nothing to read then
}

func newLoader(o Options) *loader {
	if o.Getenv == nil {
		o.Getenv = os.LookupEnv
	}
	if o.HomeDir == "" {
		o.HomeDir, _ = os.UserHomeDir() // without one, ~ is an error where it is used
	}
	return &loader{Options: o}
}

// absolute makes a path absolute; one that cannot be is returned as it is, and will not be found.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

func (l *loader) supplied(f SuppliedFile) {
	c := candidate{
		Source: Source{Path: f.Path, Scope: ScopeSupplied}, root: f.Root, data: f.Data,
		optional: f.Root != "", required: f.Root == "",
	}
	if c.root == "" {
		c.root = rootKey
	}
	if f.Data == nil {
		c.Path = absolute(f.Path)
	}
	l.set.base = appendNew(l.set.base, l.source(c))
}

func (l *loader) workspace(root, path string, required bool) {
	if !required && slices.ContainsFunc(l.set.views, func(v view) bool { return v.root == root }) {
		return
	}
	source := l.source(candidate{
		Source: Source{Path: path, Scope: ScopeWorkspace, Workspace: root}, root: rootKey, required: required,
	})
	l.set.views = append(l.set.views, view{root, appendNew(slices.Clone(l.set.base), source)})
}

func (l *loader) global(path string) {
	source := l.source(candidate{Source: Source{Path: path, Scope: ScopeGlobal}, root: rootKey, required: l.required})
	l.set.base = appendNew(l.set.base, source)
	for i := range l.set.views {
		l.set.views[i].layers = appendNew(l.set.views[i].layers, source)
	}
}

func appendNew(layers []int, source int) []int {
	if slices.Contains(layers, source) {
		return layers
	}
	return append(layers, source)
}

// source reads a candidate and returns the index of its source, which is an earlier one if it is the same file.
func (l *loader) source(c candidate) int {
	data, info, err := c.data, fs.FileInfo(nil), error(nil)
	if c.Path != "" {
		l.set.watch = append(l.set.watch, c.Path)
	}
	if data == nil {
		data, info, err = readFile(c.Path, maxFileBytes, l.Privileged)
	} else if len(data) > maxFileBytes {
		err = tooLarge(maxFileBytes)
	}
	if info != nil {
		if i := l.same(c, info); i >= 0 {
			return i
		}
		l.seen = append(l.seen, seenFile{info, c.root, len(l.set.sources)})
	}
	s := source{status: FileStatus{Path: c.Path, Scope: c.Scope, Workspace: c.Workspace}}
	if info != nil {
		s.status.ModTime = info.ModTime()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && !c.required:
		s.status.OK = true
		if last := l.lastGood(c.Source); last != nil && l.Away != nil && l.Away(c.Path) {
			s = source{status: last.status, servers: l.keep(last.servers)}
		} else {
			l.dangling(c)
		}
	case err != nil:
		s.status.Exists = !errors.Is(err, fs.ErrNotExist)
		message := err.Error()
		if !s.status.Exists {
			message = "there is no such file"
		}
		l.lose(&s, &Problem{
			Severity: SeverityError, Path: c.Path, Line: 1, Column: 1, Scope: c.Scope, Message: message, wholeFileLost: true,
		})
	default:
		s.status.Exists = true
		l.parse(&s, c, data)
	}
	l.set.sources = append(l.set.sources, s)
	return len(l.set.sources) - 1
}

// same returns the index of the source that was made of the same file for the same use, or -1. Two workspaces may share
// a file by a link and stay two, since paths in it stand against each one's own root; one that is reached by two names is one.
func (l *loader) same(c candidate, info fs.FileInfo) int {
	for _, seen := range l.seen {
		if seen.root != c.root || !os.SameFile(seen.info, info) {
			continue
		}
		earlier := l.set.sources[seen.source].status
		if c.Scope == ScopeWorkspace && earlier.Scope == ScopeWorkspace && !sameFolder(earlier.Workspace, c.Workspace) {
			continue
		}
		return seen.source
	}
	return -1
}

func sameFolder(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// dangling warns of a link whose target is not there, which would otherwise look like no file at all.
func (l *loader) dangling(c candidate) {
	if _, err := os.Lstat(c.Path); err == nil {
		l.problems = append(l.problems, Problem{
			Severity: SeverityWarning, Path: c.Path, Line: 1, Column: 1, Scope: c.Scope,
			Message: "a symbolic link that leads to no file: nothing is read",
		})
	}
}

// parse reads the content of a source.
func (l *loader) parse(s *source, c candidate, data []byte) {
	s.status.Hash = contentHash(data)
	base := c.Workspace
	if base == "" {
		base = l.HomeDir
	}
	last := l.lastGood(c.Source)
	against := folders{home: l.HomeDir, base: base}
	r := &fileReader{
		source: c.Source, root: c.root, optional: c.optional, folders: against, baseCwd: NewSecret(base),
		expander: expander{getenv: l.Getenv, workspace: c.Workspace, left: maxExpandedFile, folders: against, privileged: l.Privileged},
		self:     l.Self, privileged: l.Privileged, lastGood: last.good,
	}
	servers, lost := r.read(data)
	l.problems = append(l.problems, r.problems...)
	l.set.watch = append(l.set.watch, r.files...)
	if lost != nil {
		l.lose(s, lost)
		return
	}
	s.status.OK, s.servers = true, servers
}

// lose records that a whole file is unusable, and keeps its last good servers.
func (l *loader) lose(s *source, p *Problem) {
	if last := l.lastGood(Source{Path: s.status.Path, Scope: s.status.Scope, Workspace: s.status.Workspace}); last != nil {
		p.KeptLastGood = true
		s.servers = l.keep(last.servers)
		for i := range s.servers {
			s.servers[i].LastGood = !s.servers[i].Invalid
		}
	}
	s.status.Error = p
	l.problems = append(l.problems, *p)
}

// keep copies servers of the last good Set; their files are watched on.
func (l *loader) keep(servers []Server) []Server {
	for _, s := range servers {
		l.set.watch = s.appendFiles(l.set.watch)
	}
	return slices.Clone(servers)
}

// lastGood returns the source of the last good Set that was the same file in the same role, or nil.
func (l *loader) lastGood(of Source) *source {
	if l.LastGood == nil {
		return nil
	}
	for i := range l.LastGood.sources {
		last := &l.LastGood.sources[i]
		if last.status.Path == of.Path && last.status.Scope == of.Scope && last.status.Workspace == of.Workspace &&
			(last.status.OK && last.status.Exists || len(last.servers) > 0) {
			return last
		}
	}
	return nil
}
