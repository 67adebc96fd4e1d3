package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon"
	"github.com/traposd/traposd/mcpconfig"
)

func newCheckCommand() *cobra.Command {
	var (
		flags                  daemon.Flags
		asJSON, strict, schema bool
	)
	cmd := &cobra.Command{
		Use:   "check [FILES…]",
		Short: "Validate configuration files without connecting to anything",
		Long: "Checks the given files, or those that the service would read. Every problem is a line that an editor can jump\n" +
			"to. Exits 1 if there is an error; with --strict also if there is a warning.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			if schema {
				_, err := cmd.OutOrStdout().Write(mcpconfig.Schema())
				return err
			}
			report, err := daemon.Check(files, flags)
			if err != nil {
				return err
			}
			if err := showCheck(cmd.OutOrStdout(), report, asJSON); err != nil {
				return err
			}
			if !report.OK(strict) {
				return &toldError{cause: errors.New("problems were found")}
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&flags.Workspaces, "workspace", nil, "a `folder` whose .mcp.json to check; repeatable, strongest first")
	cmd.Flags().StringVar(&flags.ConfigDir, "config-dir", "", "the `folder` that holds the global mcp.json")
	cmd.Flags().BoolVar(&strict, "strict", false, "count warnings as errors")
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of what is accepted, for editors")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func showCheck(w io.Writer, report mcpconfig.Report, asJSON bool) error {
	if asJSON {
		return printJSON(w, report)
	}
	for _, p := range report.Problems {
		line := printable(p.String())
		if coloured(w) {
			line = paint(line, p.Severity)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	if len(report.Sources) == 0 && len(report.Problems) == 0 {
		_, err := fmt.Fprintln(w, "no configuration file was found: name files, or --workspace FOLDER for the one of a folder")
		return err
	}
	if len(report.Problems) == 0 {
		_, err := fmt.Fprintf(w, "%s in %s, no problem\n", daemon.Counted(len(report.Servers), "server"), daemon.Counted(len(report.Sources), "file"))
		return err
	}
	return nil
}
