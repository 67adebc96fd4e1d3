package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon"
)

func newStdioCommand() *cobra.Command {
	return &cobra.Command{
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
			return daemon.Bridge(cmd.Context(), dir, token, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
