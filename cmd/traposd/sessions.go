package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon"
)

func newSessionsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List the MCP clients that have a session",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := control()
			if err != nil {
				return err
			}
			report, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), daemon.SessionsReport{Version: report.Version, Sessions: report.Sessions})
			}
			return showSessions(cmd.OutOrStdout(), report.Sessions)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func showSessions(w io.Writer, sessions []daemon.SessionReport) error {
	if len(sessions) == 0 {
		_, err := fmt.Fprintln(w, "no client has a session")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "CLIENT\tREVISION\tSTREAMS\tSINCE")
	for _, s := range sessions {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%d\t%s\n", printable(s.Client), printable(s.Revision), s.Streams, s.Since.Local().Format(time.DateTime))
	}
	return t.Flush()
}
