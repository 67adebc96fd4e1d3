package main

import (
	"os"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/traposd/traposd/daemon"
)

func newDemoCommand() *cobra.Command {
	var keep, verbose bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the main job in one process, with nothing else installed",
		Long: "Starts the service with a temporary workspace, a small MCP server and two emulated computers, calls them\n" +
			"through the real listener, edits the .mcp.json and shows the tool list change.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			program, err := os.Executable()
			if err != nil {
				return err
			}
			level := zapcore.ErrorLevel
			if verbose {
				level = zapcore.InfoLevel
			}
			return daemon.Demo(cmd.Context(), daemon.DemoOptions{
				Out: cmd.OutOrStdout(), Version: version(), Program: program, Keep: keep,
				Logger: daemon.NewLogger(zap.NewAtomicLevelAt(level), daemon.LogAuto),
			})
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "stay up afterwards, and say how to connect a client")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "show the service's log on stderr")
	return cmd
}

// newDemoServerCommand is the MCP server that the demo's .mcp.json names.
func newDemoServerCommand() *cobra.Command {
	return &cobra.Command{
		Use: "demo-server NAME", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return daemon.RunDemoServer(cmd.Context(), args[0], version())
		},
	}
}
