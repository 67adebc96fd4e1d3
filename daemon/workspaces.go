package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Workspace is a folder that the operator has named to the service.
type Workspace struct {
	Path    string `json:"path"`              // absolute
	Approve bool   `json:"approve,omitempty"` // each new or changed entry waits for `traposd approve`
}

// workspaceFile is the stored list: the workspaces of a service that is given none by flag or variable, and for every
// service which of them ask for approval.
type workspaceFile struct {
	Version    int         `json:"version"`
	Workspaces []Workspace `json:"workspaces"` // strongest first
}

func workspacesPath(stateDir string) string { return filepath.Join(stateDir, "workspaces.json") }

func readWorkspaces(stateDir string) ([]Workspace, error) {
	file := workspaceFile{Version: stateVersion}
	path := workspacesPath(stateDir)
	if err := readState(path, &file); err != nil {
		return nil, err
	}
	if file.Version != stateVersion {
		return nil, fmt.Errorf("%s is of version %d, and this traposd knows version %d; use the newer program", path, file.Version, stateVersion)
	}
	return file.Workspaces, nil
}

// AddWorkspace stores dir behind the others, or changes whether it asks for approval. A running service sees it at once.
func AddWorkspace(stateDir, dir string, approve bool) (Workspace, error) {
	w, err := workspaceAt(dir)
	if err != nil {
		return Workspace{}, err
	}
	info, err := os.Stat(w.Path)
	if err != nil {
		return Workspace{}, failf(ErrUsage, "%s is not there: make the folder first", w.Path)
	}
	if !info.IsDir() {
		return Workspace{}, failf(ErrUsage, "%s is a file: give the folder that holds .mcp.json", w.Path)
	}
	w.Approve = approve
	all, err := readWorkspaces(stateDir)
	if err != nil {
		return Workspace{}, err
	}
	if i := slices.IndexFunc(all, func(other Workspace) bool { return other.Path == w.Path }); i >= 0 {
		all[i] = w
	} else {
		all = append(all, w)
	}
	return w, writeState(workspacesPath(stateDir), workspaceFile{stateVersion, all})
}

var errUnknownWorkspace = errors.New("no such workspace")

// RemoveWorkspace takes dir out of the stored list; its folder need not exist any more.
func RemoveWorkspace(stateDir, dir string) (Workspace, error) {
	w, err := workspaceAt(dir)
	if err != nil {
		return Workspace{}, err
	}
	all, err := readWorkspaces(stateDir)
	if err != nil {
		return Workspace{}, err
	}
	i := slices.IndexFunc(all, func(other Workspace) bool { return other.Path == w.Path })
	if i < 0 {
		return Workspace{}, fmt.Errorf("%w: %s is not in the list; see `traposd workspace list`", errUnknownWorkspace, w.Path)
	}
	w = all[i]
	return w, writeState(workspacesPath(stateDir), workspaceFile{stateVersion, slices.Delete(all, i, i+1)})
}

// StoredWorkspaces is the stored list, as the service itself would report it.
func StoredWorkspaces(stateDir string) (WorkspacesReport, error) {
	stored, err := readWorkspaces(stateDir)
	return WorkspacesReport{Version: reportVersion, Workspaces: append([]Workspace{}, stored...)}, err
}

func workspaceAt(dir string) (Workspace, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Workspace{}, failf(ErrUsage, "%s: %v", dir, err)
	}
	return Workspace{Path: abs}, nil
}
