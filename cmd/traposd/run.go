package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/traposd/traposd/daemon"
)

func newRunCommand() *cobra.Command {
	var flags daemon.Flags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the service in the foreground",
		Long: "Runs the service until it is told to stop (SIGTERM, Ctrl+C). Settings come from the environment:\n" +
			"TRAPOS_SERVER_PASSWORD is the secret that computers must give; see the README for the others.",
		Example: "  TRAPOS_SERVER_PASSWORD=… traposd run --workspace ~/project",
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := daemon.ReadSettings(nil, flags)
			if err != nil {
				return err
			}
			level := zap.NewAtomicLevelAt(settings.LogLevel)
			log, end, err := daemon.OpenLogger(settings, level)
			if err != nil {
				return err
			}
			defer end()
			service := daemon.New(settings, version(), log)
			service.FollowLogLevel(level)
			return daemon.RunService(cmd.Context(), service)
		},
	}
	cmd.Flags().StringArrayVar(&flags.Workspaces, "workspace", nil, "a `folder` whose .mcp.json to serve; repeatable, strongest first")
	cmd.Flags().StringVar(&flags.ConfigDir, "config-dir", "", "the `folder` that holds the global mcp.json and traposd.json")
	return cmd
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "traposd "+version())
			return err
		},
	}
}
