package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon"
)

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// execute runs one command line and returns its exit code. An error is told in one line on stderr.
func execute(ctx context.Context, args []string, std streams) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	err := root.ExecuteContext(ctx)
	var told *toldError
	if err != nil && !errors.As(err, &told) {
		_, _ = fmt.Fprintln(std.err, "traposd: "+oneLine(err.Error()))
	}
	return daemon.ExitCode(err)
}

// oneLine makes an error fit for a terminal: what it tells of may come from a server or a computer.
func oneLine(s string) string { return printable(strings.Join(strings.Fields(s), " ")) }

// toldError is a failure that the command has told in its own words.
type toldError struct{ cause error }

func (e *toldError) Error() string { return "failed" }
func (e *toldError) Unwrap() error { return e.cause }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "traposd",
		Short: "Offers MCP servers and ComputerCraft computers on one local MCP endpoint",
		Long: "traposd watches .mcp.json files and offers the MCP servers named there, and the ComputerCraft computers\n" +
			"that connect to it, on one MCP endpoint: http://127.0.0.1:4445/mcp",
		Version:      version(),
		SilenceUsage: true, SilenceErrors: true,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("traposd {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		text, _, _ := strings.Cut(err.Error(), ": strconv.") // what Go's own parser thinks is no help
		return usageError(cmd, errors.New(text))
	})
	root.AddCommand(
		newRunCommand(), newDemoCommand(), newComputerCommand(), newCheckCommand(), newStatusCommand(), newServersCommand(),
		newComputersCommand(), newSessionsCommand(), newToolsCommand(), newCallCommand(), newExecCommand(),
		newReloadCommand(), newRestartCommand(), newWorkspaceCommand(), newApproveCommand(),
		newInstallCommand(), newUninstallCommand(), newStartCommand(), newStopCommand(), newSecretCommand(), newBenchCommand(),
		newConnectCommand(), newDoctorCommand(), newLogsCommand(), newLogLevelCommand(), newImportCommand(), newStdioCommand(), newVersionCommand(), newDemoServerCommand(),
		newCompletionCommand(), newManCommand(),
	)
	addCompletions(root)
	strictArgs(root)
	return root
}

// strictArgs has wrong arguments of a command and of those below it end in a usage error; a command that says nothing of
// arguments takes none.
func strictArgs(cmd *cobra.Command) {
	args := cmd.Args
	if args == nil {
		args = cobra.NoArgs
	}
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		if args(cmd, given) == nil {
			return nil
		}
		if cmd.HasSubCommands() {
			hint := ""
			if near := cmd.SuggestionsFor(given[0]); len(near) > 0 {
				hint = fmt.Sprintf(", did you mean %q?", near[0])
			}
			return usageError(cmd, fmt.Errorf("unknown command %q%s", given[0], hint))
		}
		return usageError(cmd, fmt.Errorf("the command is `%s`", strings.TrimSuffix(cmd.UseLine(), " [flags]")))
	}
	for _, sub := range cmd.Commands() {
		strictArgs(sub)
	}
}

// runtimeDir is where the running service's control socket is.
func runtimeDir() (string, error) { return daemon.FindRuntimeDir(os.Getenv) }

// control is a client of the running service.
func control() (*daemon.ControlClient, error) {
	dir, err := runtimeDir()
	if err != nil {
		return nil, err
	}
	return daemon.NewControlClient(dir), nil
}
