package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon"
	"github.com/traposd/traposd/daemon/service"
)

// scopeFlags choose whose service is meant.
type scopeFlags struct{ user, system bool }

func (f *scopeFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.user, "user", false, "this user's service (the default, but for root)")
	cmd.Flags().BoolVar(&f.system, "system", false, "the machine's service, which has an account of its own")
}

// managed is an installed service, or one to be installed.
type managed struct {
	*service.Manager
	system bool
	dir    string // its standard configuration folder
}

// manage finds the service that the flags mean: without them root's word is about the machine's, and every other user's
// about their own.
func (f scopeFlags) manage(cmd *cobra.Command) (*managed, error) {
	if f.user && f.system {
		return nil, usageError(cmd, errors.New("--user and --system exclude each other"))
	}
	m := &managed{system: f.system || !f.user && os.Getuid() == 0}
	var err error
	if m.system {
		m.dir = service.Root()
	} else if m.dir, err = daemon.ConfigDir(withoutVariable("TRAPOS_CONFIG_DIR")); err != nil {
		return nil, err
	}
	m.Manager, err = service.New(m.system, m.dir)
	return m, coded(err)
}

// withoutVariable is the environment without one variable.
func withoutVariable(name string) func(string) string {
	return func(asked string) string {
		if asked == name {
			return ""
		}
		return os.Getenv(asked)
	}
}

func usageError(cmd *cobra.Command, err error) error {
	return daemon.UsageError(cmd.CommandPath(), err)
}

// codedError is an error of package service with the kind that decides its exit code.
type codedError struct{ kind, err error }

func (e *codedError) Error() string   { return e.err.Error() }
func (e *codedError) Unwrap() []error { return []error{e.kind, e.err} }

// coded gives an error of package service its exit code.
func coded(err error) error {
	var start *service.StartError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, service.ErrRefused):
		return &codedError{daemon.ErrUsage, err}
	case errors.Is(err, service.ErrNotInstalled):
		return &codedError{daemon.ErrNotRunning, err}
	case errors.As(err, &start):
		for _, kind := range []error{daemon.ErrSettings, daemon.ErrAddressInUse, daemon.ErrAlreadyRunning} {
			if daemon.ExitCode(kind) == start.State.ExitCode {
				return &codedError{kind, err}
			}
		}
	}
	return err
}

// drive does one thing with an installed service and says so.
func drive(cmd *cobra.Command, flags scopeFlags, done string, action func(*managed, context.Context) error) error {
	m, err := flags.manage(cmd)
	if err != nil {
		return err
	}
	if err := action(m, cmd.Context()); err != nil {
		return coded(err)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), done)
	return err
}

func newStartCommand() *cobra.Command {
	var flags scopeFlags
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Start the installed service",
		Long:  "Starts the installed service and returns when it can be used. Exits with the service's own code if it does not start.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return drive(cmd, flags, "started", func(m *managed, ctx context.Context) error { return m.Start(ctx) })
		},
	}
	flags.add(cmd)
	return cmd
}

func newStopCommand() *cobra.Command {
	var flags scopeFlags
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "Stop the installed service",
		Long:  "Stops the installed service until it is started again, or the machine is; with it end all servers.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return drive(cmd, flags, "stopped", func(m *managed, ctx context.Context) error { return m.Stop(ctx) })
		},
	}
	flags.add(cmd)
	return cmd
}

func newUninstallCommand() *cobra.Command {
	var flags scopeFlags
	var purge bool
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Stop the service and remove it",
		Long: "Stops the service and removes its definition. Configuration, secrets and state stay, for the next install; with\n" +
			"--purge they are removed too, except for files in a folder that you chose.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := flags.manage(cmd)
			if err != nil {
				return err
			}
			out, err := m.Uninstall(cmd.Context(), purge)
			showOutcome(cmd.OutOrStdout(), out)
			return coded(err)
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&purge, "purge", false, "remove configuration, secrets and state as well")
	return cmd
}

// runtimeDir is where the service has its control socket.
func (m *managed) runtimeDir() (string, error) {
	if m.system && os.Getenv("TRAPOS_RUNTIME_DIR") == "" {
		_, _, dir := service.SystemDirs()
		return dir, nil
	}
	return runtimeDir()
}
