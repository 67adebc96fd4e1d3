package daemon

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/tailscale/hujson"

	"github.com/traposd/traposd/daemon/policy"
	"github.com/traposd/traposd/mcp/upstream"
	"github.com/traposd/traposd/mcpconfig"
)

// load reads the state and configuration files as they are now. What of them is broken, or away for a moment, stays as it
// was before.
func (d *Daemon) load(before loaded, away func(path string) bool) loaded {
	now := loaded{workspaces: before.workspaces}
	var stateProblems mcpconfig.Problems
	stored, err := readWorkspaces(d.settings.StateDir)
	if err != nil {
		stateProblems = append(stateProblems, stateProblem(workspacesPath(d.settings.StateDir), err))
	} else {
		now.workspaces = d.settings.workspaces(stored)
	}
	approvals, err := readApprovals(d.settings.StateDir)
	if err != nil { // what cannot be read consents to nothing
		stateProblems = append(stateProblems, stateProblem(approvalsPath(d.settings.StateDir), err))
	}
	var lastGood *mcpconfig.Set
	if before.watch != nil {
		lastGood = &before.set
	}
	options := d.settings.loadOptions(now.workspaces, d.mcpAddr.String())
	options.LastGood, options.Away = lastGood, away
	now.set, now.problems = mcpconfig.Load(options)
	var ownProblems mcpconfig.Problems
	now.own, ownProblems = loadOwnFile(d.settings.ownFilePath(), before, now.set, away)
	now.problems = append(now.problems, ownProblems...)
	now.problems = append(now.problems, now.own.filters.strangers(d.settings.ownFilePath(), now.set, now.workspaces)...)
	now.problems = append(now.problems, stateProblems...)
	now.run, now.pending = d.gate.admit(now.set.Servers(), asking(now.workspaces), approvedHashes(approvals))
	now.watch = append(now.set.WatchPaths(), workspacesPath(d.settings.StateDir), approvalsPath(d.settings.StateDir))
	return now
}

// loadOwnFile reads our own settings file, if it can be used and is not away for a moment. When it cannot be used at the
// first start, nobody knows what is to be hidden from clients, and everything is.
func loadOwnFile(path string, before loaded, set mcpconfig.Set, away func(path string) bool) (ownFile, mcpconfig.Problems) {
	last := before.own
	first := before.watch == nil
	if first {
		last.filters, last.policy = closedFilters(path), policy.Unread(ownFileName)
	}
	if !usable(set, path) {
		if last.filters.closed == "" {
			return last, nil
		}
		return last, mcpconfig.Problems{{
			Severity: mcpconfig.SeverityError, Path: path, Line: 1, Column: 1, Scope: mcpconfig.ScopeSupplied, Field: "filters",
			Message: "what this file hides cannot be told: until it is mended, every tool is hidden",
		}}
	}
	if _, err := os.Lstat(path); !first && errors.Is(err, fs.ErrNotExist) && away(path) {
		return last, nil
	}
	return readOwnFile(path, last)
}

// usable reports whether package mcpconfig took the file: one that it refuses (broken, or others can write it) has no say
// in anything else either.
func usable(set mcpconfig.Set, path string) bool {
	for _, f := range set.Sources() {
		if f.Path == path {
			return f.OK
		}
	}
	return false
}

func stateProblem(path string, err error) mcpconfig.Problem {
	return mcpconfig.Problem{Severity: mcpconfig.SeverityError, Path: path, Line: 1, Column: 1, Message: err.Error()}
}

func asking(workspaces []Workspace) map[string]bool {
	out := map[string]bool{}
	for _, w := range workspaces {
		out[w.Path] = w.Approve
	}
	return out
}

func approvedHashes(approvals []approval) map[string]bool {
	out := map[string]bool{}
	for _, a := range approvals {
		out[a.Hash] = true
	}
	return out
}

// privileged reports whether files that others can write are refused: what they say would be run with more rights than
// theirs.
func privileged() bool { return os.Getuid() == 0 }

// halfWritten reports whether content is JSON that ends too early: a save in the middle. What is broken otherwise will not
// mend itself.
func halfWritten(_ string, content []byte) bool {
	_, err := hujson.Parse(content)
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// apply makes what may run run, and each view show its part of it.
func (d *Daemon) apply(now loaded) upstream.Outcome {
	d.applyPolicy(now.own.policy)
	d.listener.Allow(now.own.allowedHosts, now.own.allowedOrigins)
	d.offers.configured(now.set, now.workspaces, now.own.filters)
	running := make(map[string]bool, len(now.run))
	for _, s := range now.run {
		running[s.ID()] = true
	}
	d.calls.keepOnly(running)
	return d.reconciler.Reconcile(now.run)
}

// workspaces are those given by flag or variable, else the stored ones. Whether one asks for approval is stored either way.
func (s *Settings) workspaces(stored []Workspace) []Workspace {
	if len(s.Workspaces) == 0 {
		return stored
	}
	asks := asking(stored)
	out := make([]Workspace, len(s.Workspaces))
	for i, path := range s.Workspaces {
		out[i] = Workspace{Path: path, Approve: asks[path]}
	}
	return out
}

// loadOptions say which files to read, and how. self is the listener's own address, which no server may point at.
func (s *Settings) loadOptions(workspaces []Workspace, self string) mcpconfig.Options {
	roots := make([]string, len(workspaces))
	for i, w := range workspaces {
		roots[i] = w.Path
	}
	return mcpconfig.Options{
		Workspaces: roots,
		GlobalDir:  s.ConfigDir,
		Supplied:   []mcpconfig.SuppliedFile{{Path: s.ownFilePath(), Root: "servers"}},
		Getenv:     lookupEnv,
		Self:       []string{self},
		Privileged: privileged(),
	}
}
