package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon"
)

// maxCodeBytes bounds the Lua source that is read from stdin.
const maxCodeBytes = 1 << 20

func newExecCommand() *cobra.Command {
	var (
		network string
		timeout time.Duration
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "exec COMPUTER CODE",
		Short: "Run Lua on a connected computer",
		Long: "Runs Lua code on a connected computer, as the tool exec-lua does, through the listener. CODE - reads it from\n" +
			"stdin. Exits 1 if the code failed or the computer could not be reached.",
		Example: "  traposd exec 12:miner 'print(turtle.getFuelLevel())'\n  traposd exec 12 - < mine.lua",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			code := args[1]
			if code == "-" {
				data, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxCodeBytes+1))
				if err != nil {
					return err
				}
				if len(data) > maxCodeBytes {
					return usageError(cmd, errors.New("the code is longer than 1 MiB"))
				}
				code = string(data)
			}
			if timeout < time.Millisecond || timeout > 5*time.Minute {
				return usageError(cmd, errors.New("--timeout must be from 1ms to 5m"))
			}
			arguments := map[string]any{"computer": args[0], "code": code, "timeoutMs": timeout.Milliseconds()}
			if network != "" {
				arguments["network"] = network
			}
			raw, err := callTool(cmd.Context(), "", "exec-lua", arguments)
			if err != nil {
				return err
			}
			result, err := daemon.ParseToolResult(raw)
			if err != nil {
				return err
			}
			return showResult(cmd, result, asJSON)
		},
	}
	cmd.Flags().StringVar(&network, "network", "", "the computer's `network`, if two have one of that name")
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "how long the code may run")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// showResult prints a tool's result; one that says ok:false, or is an error, is the command's failure.
func showResult(cmd *cobra.Command, result daemon.ToolResult, asJSON bool) error {
	w := cmd.OutOrStdout()
	if result.IsError { // the code did not run: this is no output of it
		w = cmd.ErrOrStderr()
	}
	if asJSON {
		if err := printJSON(w, result.Structured); err != nil {
			return err
		}
	} else {
		for line := range strings.Lines(result.Text) {
			_, _ = fmt.Fprintln(w, printable(strings.TrimRight(line, "\n")))
		}
	}
	if result.Failed() {
		return &toldError{cause: errors.New("the call failed")}
	}
	return nil
}
