package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon/clients"
)

func newImportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE…",
		Short: "Print a .mcp.json made from other clients' configurations",
		Long: "Reads configuration files of Claude Desktop, Claude Code, VS Code, Cursor, Windsurf, Gemini, Cline, opencode, Codex\n" +
			"and Zed and prints one .mcp.json with their servers on stdout; what could not be carried over is told on stderr. Nothing\n" +
			"is written or started.",
		Example: "  traposd import ~/.cursor/mcp.json ~/.codex/config.toml >.mcp.json && traposd check .mcp.json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var im clients.Imported
			for _, path := range args {
				if err := im.Import(path); err != nil {
					return err
				}
			}
			for _, note := range im.Notes {
				about := ""
				if note.Server != "" {
					about = fmt.Sprintf("server %q: ", note.Server)
				}
				_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s%s\n", shownPath(note.Path), printable(about), printable(note.Message))
			}
			_, err := cmd.OutOrStdout().Write(escapeControls(im.File()))
			return err
		},
	}
}
