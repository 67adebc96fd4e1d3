package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon"
)

// maxArgumentBytes bounds the arguments that are read from stdin; it is the listener's limit for a body.
const maxArgumentBytes = 32 << 20

func newCallCommand() *cobra.Command {
	var (
		server  string
		timeout time.Duration
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "call TOOL [ARGUMENTS | KEY=TEXT KEY:=JSON…]",
		Short: "Call a tool as a client would",
		Long: "Calls a tool through the listener, like any client, and prints its text. The arguments are one JSON object, - to read\n" +
			"that from stdin, or single ones: KEY=TEXT is a string, KEY:=JSON anything else. Exits 1 if the call failed.",
		Example: "  traposd call dice__roll sides:=20\n  traposd call --server dice roll '{\"sides\": 20}'",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			arguments, err := callArguments(cmd.InOrStdin(), args[1:])
			if err != nil {
				return usageError(cmd, err)
			}
			if timeout <= 0 {
				return usageError(cmd, errors.New("--timeout must be more than nothing, like 30s"))
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			raw, err := callTool(ctx, server, args[0], arguments)
			if errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("no answer within %s: the call is cancelled; --timeout waits longer", timeout)
			}
			if err != nil {
				return err
			}
			return showCall(cmd, raw, asJSON)
		},
	}
	cmd.Flags().StringVar(&server, "server", "", "the `server` whose tool it is, under the tool's own name")
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "how long to wait for the answer")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// callArguments reads the arguments of a tool from the command line.
func callArguments(in io.Reader, args []string) (json.RawMessage, error) {
	if len(args) == 0 {
		return json.RawMessage("{}"), nil
	}
	if len(args) > 1 || args[0] != "-" && !strings.HasPrefix(strings.TrimSpace(args[0]), "{") {
		return singleArguments(args)
	}
	text := []byte(args[0])
	if args[0] == "-" {
		var err error
		if text, err = io.ReadAll(io.LimitReader(in, maxArgumentBytes+1)); err != nil {
			return nil, err
		}
		if len(text) > maxArgumentBytes {
			return nil, errors.New("the arguments are longer than 32 MiB")
		}
	}
	text = bytes.TrimSpace(text)
	if !json.Valid(text) || text[0] != '{' {
		return nil, errors.New("the arguments are not a JSON object, like {\"sides\": 20}")
	}
	return text, nil
}

func singleArguments(args []string) (json.RawMessage, error) {
	object := make(map[string]json.RawMessage, len(args))
	for _, arg := range args {
		key, value, found := strings.Cut(arg, "=")
		if !found || key == "" || key == ":" {
			return nil, errors.New("each argument is KEY=TEXT or KEY:=JSON, or all are one JSON object")
		}
		name, isJSON := strings.CutSuffix(key, ":")
		if _, twice := object[name]; twice {
			return nil, fmt.Errorf("argument %s is given twice", name)
		}
		raw := json.RawMessage(value)
		if !isJSON {
			raw, _ = json.Marshal(value) // a string can always be written
		} else if !json.Valid(raw) {
			return nil, fmt.Errorf("the value of %s:= is not JSON; a string is given as %s=TEXT", name, name)
		}
		object[name] = raw
	}
	return json.Marshal(object)
}

// showCall prints a result: its text; else its structured content; and a word on what a terminal cannot show.
func showCall(cmd *cobra.Command, raw json.RawMessage, asJSON bool) error {
	result, err := daemon.ParseToolResult(raw)
	if err != nil {
		return err
	}
	switch {
	case asJSON:
		err = printJSON(cmd.OutOrStdout(), raw)
	case result.Text == "" && len(result.Structured) > 0:
		err = printJSON(cmd.OutOrStdout(), result.Structured)
	default:
		return showResult(cmd, result, false)
	}
	if err == nil && result.Failed() {
		err = &toldError{cause: errors.New("the call failed")}
	}
	return err
}
