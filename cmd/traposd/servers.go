package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon"
)

func newServersCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "servers",
		Short: "List the configured MCP servers and the state they are in",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := control()
			if err != nil {
				return err
			}
			report, err := c.Servers(cmd.Context())
			if err != nil {
				return err
			}
			return showServers(cmd.OutOrStdout(), report, asJSON)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func showServers(w io.Writer, report daemon.ServersReport, asJSON bool) error {
	if asJSON {
		return printJSON(w, report)
	}
	if len(report.Servers) == 0 {
		_, _ = fmt.Fprintln(w, "no server is configured: write one into the .mcp.json of a workspace; `traposd workspace add FOLDER` names one")
	} else {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(t, "NAME\tSTATE\tTRANSPORT\tTOOLS\tPID\tSOURCE\tNOTE")
		for _, s := range report.Servers {
			pid := "-"
			if s.PID != 0 {
				pid = strconv.Itoa(s.PID)
			}
			note := s.Error
			if note == "" {
				note = s.Note
			}
			_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s:%d\t%s\n", cell(s.Name), s.State, s.Transport, s.Tools, pid,
				shownPath(s.Source.Path), s.Source.Line, cell(note))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	for _, p := range report.Problems {
		where := fmt.Sprintf("%s:%d:%d", shownPath(p.Path), p.Line, p.Column)
		about := ""
		if p.Server != "" {
			about = fmt.Sprintf("server %q: ", p.Server)
		}
		if p.Field != "" {
			about += p.Field + ": "
		}
		kept := ""
		if p.KeptLastGood {
			kept = " (the last good version is kept)"
			if p.Since != nil {
				kept = " (the last good version is kept since " + p.Since.Local().Format(time.DateTime) + ")"
			}
		}
		_, _ = fmt.Fprintf(w, "%s: %s: %s%s\n", where, p.Severity, printable(about+p.Message), kept)
	}
	return nil
}
