package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// toolsVersion is the version of the form that `traposd tools --json` prints.
const toolsVersion = 1

func newToolsCommand() *cobra.Command {
	var (
		server         string
		schema, asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "List the tools that clients see",
		Long: "Lists the tools as a client sees them, asked of the listener as a client asks. With --server, one server's under\n" +
			"their own names, as `traposd call --server` takes them.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			tools, err := listTools(cmd.Context(), server)
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			if asJSON {
				return printJSON(w, map[string]any{"version": toolsVersion, "tools": tools})
			}
			return showTools(w, tools, schema)
		},
	}
	cmd.Flags().StringVar(&server, "server", "", "only the `server` of this name")
	cmd.Flags().BoolVar(&schema, "schema", false, "print what each tool takes")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// toolSummary is what a person wants to know of a tool's definition.
type toolSummary struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

func showTools(w io.Writer, tools []json.RawMessage, schema bool) error {
	if len(tools) == 0 {
		_, err := fmt.Fprintln(w, "no tool is offered")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, raw := range tools {
		var tool toolSummary
		if err := json.Unmarshal(raw, &tool); err != nil {
			return err
		}
		about := tool.Description
		if about == "" {
			about = tool.Title
		}
		about = strings.TrimSpace(about)
		about, _, _ = strings.Cut(about, "\n")
		_, _ = fmt.Fprintf(t, "%s\t%s\n", printable(tool.Name), cell(about))
		if schema {
			if err := t.Flush(); err != nil {
				return err
			}
			if err := printJSON(w, tool.InputSchema); err != nil {
				return err
			}
		}
	}
	return t.Flush()
}
