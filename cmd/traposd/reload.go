package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func newReloadCommand() *cobra.Command {
	var asJSON, quiet bool
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Have the configuration files read now",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := control()
			if err != nil {
				return err
			}
			report, err := c.Reload(cmd.Context())
			if err != nil || quiet {
				return err
			}
			return showServers(cmd.OutOrStdout(), report, asJSON)
		},
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&quiet, "quiet", false, "print nothing")
	return cmd
}

func newRestartCommand() *cobra.Command {
	var flags scopeFlags
	cmd := &cobra.Command{
		Use:   "restart [NAME]",
		Short: "Restart one MCP server, or without NAME the installed service",
		Long: "With NAME, stops and starts one MCP server. Without, restarts the installed service; while it does, its addresses\n" +
			"stay bound, and whoever connects waits.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return drive(cmd, flags, "restarted", func(m *managed, ctx context.Context) error { return m.Restart(ctx) })
			}
			if flags.user || flags.system {
				return usageError(cmd, errors.New("--user and --system choose a service, and NAME is one of its servers: give one or the other"))
			}
			c, err := control()
			if err != nil {
				return err
			}
			if _, err := c.Restart(cmd.Context(), args[0]); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "restarting %s\n", printable(args[0]))
			return err
		},
	}
	flags.add(cmd)
	return cmd
}
