package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon"
)

func newComputersCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "computers",
		Short: "List the connected computers",
		Long:  "Lists the connected computers, and how many types of requests each serves; --json and probe-computers name them.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := control()
			if err != nil {
				return err
			}
			report, err := c.Computers(cmd.Context())
			if err != nil {
				return err
			}
			return showComputers(cmd.OutOrStdout(), report, asJSON)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func showComputers(w io.Writer, report daemon.ComputersReport, asJSON bool) error {
	if asJSON {
		return printJSON(w, report)
	}
	if len(report.Computers) == 0 {
		_, err := fmt.Fprintln(w, "no computer is connected")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "NETWORK\tCOMPUTER\tSTATE\tSERVES\tCONNECTED")
	for _, c := range report.Computers {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", printable(c.Network), printable(c.TraposID), c.State,
			daemon.Counted(len(c.Serves), "type"), c.ConnectedAt.Local().Format(time.DateTime))
	}
	return t.Flush()
}
