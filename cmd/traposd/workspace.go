package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon"
)

func newWorkspaceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workspace",
		Short: "Choose the folders whose .mcp.json is served",
		Long: "The stored list of workspaces, strongest first. Naming a folder is the consent to run what its .mcp.json says,\n" +
			"now and after each edit; with --approve each new or changed entry waits for `traposd approve`.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newWorkspaceAddCommand(), newWorkspaceRemoveCommand(), newWorkspaceListCommand())
	return cmd
}

func newWorkspaceAddCommand() *cobra.Command {
	var approve bool
	cmd := &cobra.Command{
		Use:   "add DIR",
		Short: "Add a workspace, or change whether it asks for approval",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			return changeWorkspaces(cmd, "added",
				func(ctx context.Context, c *daemon.ControlClient) (daemon.Workspace, error) {
					return c.AddWorkspace(ctx, daemon.Workspace{Path: dir, Approve: approve})
				},
				func(stateDir string) (daemon.Workspace, error) { return daemon.AddWorkspace(stateDir, dir, approve) })
		},
	}
	cmd.Flags().BoolVar(&approve, "approve", false, "have each new or changed entry wait for traposd approve")
	return cmd
}

func newWorkspaceRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "remove DIR",
		Short: "Remove a workspace; its servers are stopped",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			return changeWorkspaces(cmd, "removed",
				func(ctx context.Context, c *daemon.ControlClient) (daemon.Workspace, error) {
					return c.RemoveWorkspace(ctx, dir)
				},
				func(stateDir string) (daemon.Workspace, error) { return daemon.RemoveWorkspace(stateDir, dir) })
		},
	}
}

// changeWorkspaces asks the running service to make the change, or makes it for the next start if none runs.
func changeWorkspaces(
	cmd *cobra.Command, done string,
	ask func(context.Context, *daemon.ControlClient) (daemon.Workspace, error),
	store func(stateDir string) (daemon.Workspace, error),
) error {
	c, err := control()
	if err != nil {
		return err
	}
	w, err := ask(cmd.Context(), c)
	if errors.Is(err, daemon.ErrNotRunning) {
		stateDir, err := daemon.StateDir(os.Getenv)
		if err != nil {
			return err
		}
		if w, err = store(stateDir); err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s; it takes effect when traposd is started\n", done, printable(w.Path))
		return err
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", done, printable(w.Path))
	if report, listErr := c.Workspaces(cmd.Context()); listErr == nil && report.Overridden {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "traposd: the running service was given its workspaces by --workspace or TRAPOS_WORKSPACES; the stored list counts when it is started without")
	}
	return err
}

func newWorkspaceListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the stored workspaces, strongest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := control()
			if err != nil {
				return err
			}
			report, err := c.Workspaces(cmd.Context())
			if errors.Is(err, daemon.ErrNotRunning) {
				report, err = storedWorkspaces()
			}
			if err != nil {
				return err
			}
			return showWorkspaces(cmd.OutOrStdout(), report, asJSON)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func storedWorkspaces() (daemon.WorkspacesReport, error) {
	stateDir, err := daemon.StateDir(os.Getenv)
	if err != nil {
		return daemon.WorkspacesReport{}, err
	}
	return daemon.StoredWorkspaces(stateDir)
}

func showWorkspaces(w io.Writer, report daemon.WorkspacesReport, asJSON bool) error {
	if asJSON {
		return printJSON(w, report)
	}
	if len(report.Workspaces) == 0 {
		_, err := fmt.Fprintln(w, "no workspace is stored; add one by `traposd workspace add DIR`")
		return err
	}
	for _, ws := range report.Workspaces {
		note := ""
		if ws.Approve {
			note = " (asks for approval)"
		}
		if _, err := fmt.Fprintf(w, "%s%s\n", shownPath(ws.Path), note); err != nil {
			return err
		}
	}
	return nil
}
