package daemon

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/traposd/traposd/mcpconfig"
)

// Pending is an entry of a workspace that asks for approval, as it stands in the file now and is not approved.
type Pending struct {
	Name    string       `json:"name"`
	Source  SourceReport `json:"source"`
	Hash    string       `json:"hash"`              // of the whole entry and its file's path
	Command string       `json:"command,omitempty"` // as it is written, for the eyes of who is asked; see Masked
	URL     string       `json:"url,omitempty"`     // the same, without userinfo and query
	Args    int          `json:"args"`              // how many
	Changed bool         `json:"changed"`           // an edit: the version from before keeps running meanwhile
	Running bool         `json:"running"`           // it runs: it did when the workspace began to ask for approval

	id string // of the server; names and lines are not unique
}

// approval is one consent. It is bound to the hash; the rest is for people.
type approval struct {
	Hash string    `json:"hash"`
	Name string    `json:"name"`
	Path string    `json:"path"`
	At   time.Time `json:"at"`
}

type approvalFile struct {
	Version  int        `json:"version"`
	Approved []approval `json:"approved"`
}

// approvalsPath is outside of every workspace: a workspace's file must not be able to approve itself.
func approvalsPath(stateDir string) string { return filepath.Join(stateDir, "approvals.json") }

func readApprovals(stateDir string) ([]approval, error) {
	file := approvalFile{Version: stateVersion}
	path := approvalsPath(stateDir)
	if err := readState(path, &file); err != nil {
		return nil, err
	}
	if file.Version != stateVersion {
		return nil, fmt.Errorf("%s is of version %d, and this traposd knows version %d; use the newer program", path, file.Version, stateVersion)
	}
	return file.Approved, nil
}

// approve adds pending entries to the approved ones. Earlier approvals of the same entry stay: going back to one needs no
// second consent.
func approve(stateDir string, chosen []Pending, now time.Time) error {
	all, err := readApprovals(stateDir)
	if err != nil {
		return err
	}
	for _, p := range chosen {
		all = append(all, approval{Hash: p.Hash, Name: p.Name, Path: p.Source.Path, At: now})
	}
	return writeState(approvalsPath(stateDir), approvalFile{stateVersion, all})
}

// choose finds what a person means: NAME, or NAME@HASH with the beginning of the hash that they were shown, so that what is
// approved is what they saw. An empty name means all.
func choose(pending []Pending, name string) ([]Pending, error) {
	if len(pending) == 0 {
		return nil, failf(ErrUsage, "nothing waits for approval")
	}
	if name == "" {
		return pending, nil
	}
	wanted, hash, _ := strings.Cut(name, "@")
	if !slices.ContainsFunc(pending, func(p Pending) bool { return p.Name == wanted }) {
		wanted, hash = name, "" // the name itself may hold an @
	}
	var found []Pending
	for _, p := range pending {
		if p.Name == wanted && strings.HasPrefix(p.Hash, hash) {
			found = append(found, p)
		}
	}
	switch {
	case len(found) == 0 && hash != "":
		return nil, failf(ErrUsage, "the entry %s has changed since it was shown; look again with `traposd approve --list`", wanted)
	case len(found) == 0:
		return nil, failf(ErrUsage, "no entry named %s waits for approval; see `traposd approve --list`", wanted)
	case len(found) > 1:
		return nil, failf(ErrUsage, "%d entries named %s wait for approval; say which by NAME@HASH as `traposd approve --list` shows them", len(found), wanted)
	}
	return found, nil
}

// gate lets only approved entries of the workspaces that ask for approval through. Only the reloader uses it.
type gate struct {
	last map[string]mcpconfig.Server // by ID: the version that was let through last
}

// admit returns the servers that may run, in their order, and what waits. Of a changed entry the approved version from
// before goes on.
func (g *gate) admit(servers []mcpconfig.Server, asks map[string]bool, approved map[string]bool) (run []mcpconfig.Server, pending []Pending) {
	next := map[string]mcpconfig.Server{}
	for _, s := range servers {
		if s.Source.Scope != mcpconfig.ScopeWorkspace || !asks[s.Source.Workspace] {
			run = append(run, s) // its hash is not computed: nobody asks
			next[s.ID()] = s
			continue
		}
		hash := s.ApprovalHash()
		switch before, known := g.last[s.ID()]; {
		case hash != "" && approved[hash]:
			run = append(run, s)
			next[s.ID()] = s
		default:
			p := Pending{
				Name: s.Name, Source: SourceReport{Path: s.Source.Path, Line: s.Source.Line},
				Hash: hash, Args: len(s.Args), id: s.ID(),
				Changed: known && before.ApprovalHash() != hash, Running: known && before.ApprovalHash() == hash,
			}
			p.Command, p.URL = s.ShownCommand(), s.ShownURL()
			// A last good version is one that never was in force here: its edit still waits, and is broken as well.
			if !s.LastGood {
				pending = append(pending, p)
			}
			if known {
				run = append(run, before)
				next[s.ID()] = before
			}
		}
	}
	g.last = next
	return run, pending
}
