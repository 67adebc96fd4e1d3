package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon"
	"github.com/traposd/traposd/daemon/service"
	"github.com/traposd/traposd/mcpconfig"
)

// defaultOverlap is how long the secret before goes on to count: long enough for the computers to be told the new one.
const defaultOverlap = time.Hour

func newSecretCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secret",
		Short: "Show or change the secret that computers must give",
		Long: "The installed service's secret for computers. A change counts at once, also for the running service; for the time of\n" +
			"--overlap the secret before counts too, unless the service is restarted. Computers that are connected stay so; each needs\n" +
			"the new one before it connects again: `set cloud.password …` in its shell.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSecretShowCommand(), newSecretSetCommand(), newSecretRotateCommand())
	return cmd
}

func newSecretShowCommand() *cobra.Command {
	var flags scopeFlags
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the secret",
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := flags.manage(cmd)
			if err != nil {
				return err
			}
			secret, err := storedSecret(m)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), printable(secret.Reveal()))
			return err
		},
	}
	flags.add(cmd)
	return cmd
}

// storedSecret is the secret of an installed service; without one there is nothing to show or to change.
func storedSecret(m *managed) (mcpconfig.Secret, error) {
	secret, err := m.Secrets().Read(service.SecretPassword)
	if err == nil && secret.IsZero() {
		err = fmt.Errorf("a secret for computers is %w: `traposd install` with --generate-password or --password-file does that", service.ErrNotInstalled)
	}
	return secret, coded(err)
}

func newSecretSetCommand() *cobra.Command {
	var flags scopeFlags
	var file string
	var overlap time.Duration
	cmd := &cobra.Command{
		Use:     "set",
		Short:   "Change the secret to a given one",
		Long:    "Changes the secret to that of TRAPOS_SERVER_PASSWORD or --password-file. On a command line it would be seen by others.",
		Example: "  traposd secret set --password-file - <secret.txt",
		RunE: func(cmd *cobra.Command, _ []string) error {
			secret := mcpconfig.NewSecret(os.Getenv(service.SecretPassword))
			if file != "" {
				var err error
				if secret, err = readGivenSecret(cmd.InOrStdin(), file); err != nil {
					return err
				}
			}
			if secret.IsZero() {
				return usageError(cmd, errors.New("no secret is given: set TRAPOS_SERVER_PASSWORD, or give --password-file FILE"))
			}
			return changeSecret(cmd, flags, secret, overlap)
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&file, "password-file", "", "the `file` that holds the secret; - is standard input")
	overlapFlag(cmd, &overlap)
	return cmd
}

func newSecretRotateCommand() *cobra.Command {
	var flags scopeFlags
	var overlap time.Duration
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Change the secret to a new random one, and show it once",
		RunE: func(cmd *cobra.Command, _ []string) error {
			secret := service.GenerateSecret()
			if err := changeSecret(cmd, flags, secret, overlap); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "the secret for computers, shown this once: %s\n", secret.Reveal())
			return err
		},
	}
	flags.add(cmd)
	overlapFlag(cmd, &overlap)
	return cmd
}

func overlapFlag(cmd *cobra.Command, overlap *time.Duration) {
	cmd.Flags().DurationVar(overlap, "overlap", defaultOverlap, "how long the secret before counts too")
}

// changeSecret stores another secret and tells the running service.
func changeSecret(cmd *cobra.Command, flags scopeFlags, secret mcpconfig.Secret, overlap time.Duration) error {
	m, err := flags.manage(cmd)
	if err != nil {
		return err
	}
	if _, err := storedSecret(m); err != nil {
		return err
	}
	if _, err := m.Secrets().Write(service.SecretPassword, secret); err != nil {
		return coded(err)
	}
	dir, err := m.runtimeDir()
	if err != nil {
		return err
	}
	report, err := daemon.NewControlClient(dir).ChangePassword(cmd.Context(), secret, overlap)
	w := cmd.OutOrStdout()
	switch {
	case errors.Is(err, daemon.ErrNotRunning):
		_, err = fmt.Fprintln(w, "the secret is stored; it counts when the service is started")
	case err != nil:
		err = fmt.Errorf("the secret is stored, but the running service does not take it, so it counts after a restart: %w", err)
	case !report.Changed:
		_, err = fmt.Fprintln(w, "the secret is the same as before")
	default:
		_, err = fmt.Fprintf(w, "the secret has changed; the one before counts until %s, for the computers that are still to be told (%d connected)\n",
			time.Now().Add(time.Duration(report.OverlapSeconds)*time.Second).Format(time.DateTime), report.Computers)
	}
	return err
}
