package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
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

func newReloadCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Have the configuration files read now",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := control()
			if err != nil {
				return err
			}
			report, err := c.Reload(cmd.Context())
			if err != nil {
				return err
			}
			return showServers(cmd.OutOrStdout(), report, asJSON)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newRestartCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restart NAME",
		Short: "Stop and start one MCP server",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := control()
			if err != nil {
				return err
			}
			_, err = c.Restart(cmd.Context(), args[0])
			return err
		},
	}
}

func jsonFlag(cmd *cobra.Command, value *bool) {
	cmd.Flags().BoolVar(value, "json", false, "print JSON")
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func showServers(w io.Writer, report daemon.ServersReport, asJSON bool) error {
	if asJSON {
		return printJSON(w, report)
	}
	if len(report.Servers) == 0 {
		_, _ = fmt.Fprintln(w, "no server is configured")
	} else {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(t, "NAME\tSTATE\tTRANSPORT\tTOOLS\tPID\tSOURCE\tERROR")
		for _, s := range report.Servers {
			pid := "-"
			if s.PID != 0 {
				pid = strconv.Itoa(s.PID)
			}
			_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s:%d\t%s\n", printable(s.Name), s.State, s.Transport, s.Tools, pid,
				printable(s.Source.Path), s.Source.Line, printable(s.Error))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	for _, p := range report.Problems {
		where := fmt.Sprintf("%s:%d:%d", printable(p.Path), p.Line, p.Column)
		kept := ""
		if p.KeptLastGood {
			kept = " (the last good version is kept)"
			if p.Since != nil {
				kept = " (the last good version is kept since " + p.Since.Local().Format(time.DateTime) + ")"
			}
		}
		_, _ = fmt.Fprintf(w, "%s: %s: %s%s\n", where, p.Severity, printable(p.Message), kept)
	}
	return nil
}

// printable keeps what others chose (names, messages) from steering the terminal: control characters are escaped.
func printable(s string) string {
	clean := true
	for _, r := range s {
		if !strconv.IsPrint(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
