package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newManCommand is for those who make packages: it writes what `man traposd` shows.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Hidden: true, Args: cobra.ExactArgs(1),
		Short: "Write the manual pages into a folder",
		Long: "Writes the manual page of each command into a folder, which is made if it is missing. Their date is that of\n" +
			"SOURCE_DATE_EPOCH if it is set, so that the same program gives the same pages.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { // they are for everybody
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // it would name the library, and the day
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "traposd " + version(), Manual: "traposd"}, args[0])
		},
	}
}
