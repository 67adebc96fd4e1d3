package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon"
)

func newStdioCommand() *cobra.Command {
	var view daemon.BridgeView
	command := &cobra.Command{
		Use:   "stdio",
		Short: "Bridge an MCP client that only starts processes to the running service",
		Long: "Speaks MCP on stdin and stdout and passes everything on to the running service, which it does not start. When the\n" +
			"service restarts, it is found again.",
		Example: `  {"mcpServers": {"traposd": {"command": "traposd", "args": ["stdio"]}}}`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := runtimeDir()
			if err != nil {
				return err
			}
			token, err := daemon.ListenerToken(os.Getenv)
			if err != nil {
				return err
			}
			return daemon.Bridge(cmd.Context(), dir, token, view, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	command.Flags().StringVar(&view.Path, "view", "", "show `w/WORKSPACE or s/SERVER` instead of everything")
	command.Flags().BoolVar(&view.Compact, "compact", false, "show find-tools and call-tool in place of a list of all tools")
	return command
}
