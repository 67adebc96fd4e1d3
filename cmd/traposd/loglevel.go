package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon"
)

// logLevels are what TRAPOS_LOG_LEVEL and the command take.
var logLevels = []string{"debug", "info", "warn", "error"}

func newLogLevelCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "log-level [LEVEL]",
		Short: "Show or change from which level on the running service logs",
		Long: "Shows from which level on the running service logs, or changes it: debug, info, warn or error. The change holds until\n" +
			"the service starts again; then TRAPOS_LOG_LEVEL counts.",
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: logLevels,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := control()
			if err != nil {
				return err
			}
			var report daemon.LogLevelReport
			if len(args) == 0 {
				report, err = c.LogLevel(cmd.Context())
			} else {
				if _, err := daemon.ParseLogLevel(args[0]); err != nil {
					return usageError(cmd, err)
				}
				report, err = c.ChangeLogLevel(cmd.Context(), args[0])
			}
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), report)
			}
			note := ""
			if len(args) > 0 {
				note = "; until the service starts again, then TRAPOS_LOG_LEVEL counts"
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), report.Level+note)
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
