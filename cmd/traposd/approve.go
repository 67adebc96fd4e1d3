package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon"
)

func newApproveCommand() *cobra.Command {
	var all, list, asJSON bool
	cmd := &cobra.Command{
		Use:   "approve [NAME[@HASH]]",
		Short: "Consent to new or changed entries of workspaces that ask for approval",
		Long: "Consents to the entry of that name as it stands in its file now. The consent is bound to a hash of the whole\n" +
			"entry and to its file: any later change waits again. With the @HASH that --list shows, exactly what was shown is\n" +
			"approved or nothing.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if chosen := len(args) + count(all) + count(list); chosen != 1 {
				return usageError(cmd, fmt.Errorf("give one of NAME, --all and --list"))
			}
			c, err := control()
			if err != nil {
				return err
			}
			if list {
				report, err := c.Pending(cmd.Context())
				if err != nil {
					return err
				}
				return showPending(cmd.OutOrStdout(), report, asJSON)
			}
			name := ""
			if !all {
				if name = args[0]; name == "" {
					return usageError(cmd, fmt.Errorf("the name is empty"))
				}
			}
			report, err := c.Approve(cmd.Context(), name)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), report.Masked())
			}
			for _, p := range report.Pending {
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "approved %s of %s\n", printable(p.Name), printable(p.Source.Path))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "approve everything that waits now")
	cmd.Flags().BoolVar(&list, "list", false, "list what waits")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// shownHash is how many digits of a hash are shown: 48 bits, enough that nobody hits another's by trying.
const shownHash = 12

func showPending(w io.Writer, report daemon.PendingReport, asJSON bool) error {
	if asJSON {
		return printJSON(w, report.Masked())
	}
	if len(report.Pending) == 0 {
		_, err := fmt.Fprintln(w, "nothing waits for approval")
		return err
	}
	for _, p := range report.Pending {
		what := "new"
		if p.Changed {
			what = "changed, the version from before keeps running"
		}
		if p.Running {
			what = "running from before its workspace asked for approval"
		}
		runs := p.URL
		if p.Command != "" {
			runs = fmt.Sprintf("%s, with %d arguments", p.Command, p.Args)
		}
		hash := p.Hash[:min(shownHash, len(p.Hash))]
		if _, err := fmt.Fprintf(w, "%s@%s (%s)\n  %s:%d: %s\n", printable(p.Name), hash, what,
			shownPath(p.Source.Path), p.Source.Line, printable(runs)); err != nil {
			return err
		}
	}
	return nil
}
