package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon"
	"github.com/traposd/traposd/daemon/service"
)

// showOutcome says what was done, a line each.
func showOutcome(w io.Writer, out service.Outcome) {
	for _, list := range []struct {
		verb  string
		paths []string
	}{{"wrote", out.Wrote}, {"removed", out.Removed}, {"kept", out.Kept}} {
		for _, path := range list.paths {
			_, _ = fmt.Fprintf(w, "%s %s\n", list.verb, shownPath(path))
		}
	}
	for _, note := range out.Notes {
		_, _ = fmt.Fprintln(w, printable(note))
	}
}

// showFiles prints what an installation would write.
func showFiles(w io.Writer, m *managed, spec service.Spec) error {
	files, err := m.Files(spec)
	if err != nil {
		return coded(err)
	}
	for i, f := range files {
		if i > 0 {
			_, _ = fmt.Fprintln(w)
		}
		if _, err := fmt.Fprintf(w, "# %s\n%s", f.Name, f.Text); err != nil {
			return err
		}
	}
	return nil
}

// showNext says how things stand and what can be done next.
func showNext(cmd *cobra.Command, m *managed, s daemon.Settings, out service.Outcome) error {
	state, err := m.State(cmd.Context())
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	scope := ""
	if m.system {
		scope = " --system"
	}
	switch {
	case len(out.Wrote) == 0 && out.Started:
		_, _ = fmt.Fprintln(w, "everything is installed already; the service was started anew, with the program as it is now")
	case len(out.Wrote) == 0:
		_, _ = fmt.Fprintln(w, "everything is installed already")
	}
	if state.Up() {
		_, _ = fmt.Fprintf(w, "the service runs: http://%s/mcp\n", s.MCPAddr)
	} else {
		_, _ = fmt.Fprintf(w, "next: `traposd start%s`; from then on it starts by itself\n", scope)
	}
	for _, hint := range m.Hints() {
		_, _ = fmt.Fprintln(w, hint)
	}
	_, err = fmt.Fprintf(w, "its log: `%s`\n", m.LogHint())
	return err
}
