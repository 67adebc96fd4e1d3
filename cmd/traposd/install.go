package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon"
	"github.com/traposd/traposd/daemon/service"
	"github.com/traposd/traposd/mcpconfig"
)

// installFlags are what `traposd install` is told.
type installFlags struct {
	scopeFlags
	daemon.Flags
	now, dryRun, linger bool
	account             string
	passwordFile        string
	generate            bool
}

func newInstallCommand() *cobra.Command {
	var flags installFlags
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install the service, so that it starts by itself",
		Long: "Installs traposd as a service: this user's by default, which sees the user's programs and files, or with --system the\n" +
			"machine's, in a sandbox and with an account of its own. Doing it again brings in a new program or new settings, and keeps\n" +
			"what it is not told otherwise. Settings come from the environment, as for `traposd run`. The secret for computers comes\n" +
			"from TRAPOS_SERVER_PASSWORD, --password-file or --generate-password; it is stored in a file that only its user can read.",
		Example: "  traposd install --now --workspace ~/project --generate-password\n  sudo traposd install --system --password-file secret.txt",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return install(cmd, flags)
		},
	}
	f := cmd.Flags()
	flags.add(cmd)
	f.StringArrayVar(&flags.Workspaces, "workspace", nil, "a `folder` whose .mcp.json to serve; repeatable, strongest first")
	f.StringVar(&flags.ConfigDir, "config-dir", "", "the `folder` that holds the global mcp.json and traposd.json")
	f.BoolVar(&flags.now, "now", false, "start it, or have the running one be the new one")
	f.BoolVar(&flags.dryRun, "dry-run", false, "print the files that would be written, and write none")
	f.BoolVar(&flags.linger, "linger", false, "have it run also while you are not logged in (systemd)")
	f.StringVar(&flags.account, "account", service.DefaultAccount, "the `user` that the machine's service runs as")
	f.StringVar(&flags.passwordFile, "password-file", "", "the `file` that holds the secret for computers; - is standard input")
	f.BoolVar(&flags.generate, "generate-password", false, "make a secret for computers, and show it once")
	return cmd
}

func install(cmd *cobra.Command, flags installFlags) error {
	if os.Getuid() == 0 && !flags.user && !flags.system {
		return usageError(cmd, errors.New("root has to say whose service it is: --system for the machine's, --user for root's own"))
	}
	m, err := flags.manage(cmd)
	if err != nil {
		return err
	}
	record, err := service.ReadRecord(m.dir)
	if err != nil {
		return err
	}
	getenv := installEnvironment(m, record)
	settings, err := daemon.ReadSettings(getenv, flags.Flags)
	if err != nil {
		return err
	}
	spec, err := newSpec(m, flags, getenv, settings, record)
	if err != nil {
		return err
	}
	if flags.dryRun {
		return showFiles(cmd.OutOrStdout(), m, spec)
	}
	secrets, generated, err := installSecrets(cmd, m, flags, settings)
	if err != nil {
		return err
	}
	out, err := m.Install(cmd.Context(), spec, service.Options{Secrets: secrets, Start: flags.now, Linger: flags.linger})
	showOutcome(cmd.OutOrStdout(), out)
	if generated && (err == nil || len(out.Wrote) > 0) {
		_, _ = fmt.Fprintf(cmd.OutOrStdout(), "the secret for computers, shown this once: %s\n", secrets[service.SecretPassword].Reveal())
	}
	if err == nil && !m.system {
		err = storeWorkspaces(settings)
	}
	if err != nil {
		return coded(err)
	}
	return showNext(cmd, m, settings, out)
}

// recorded are the settings that the service is given by its definition, and that a later installation keeps.
var recorded = []string{
	"TRAPOS_MCP_ADDR", "TRAPOS_GATEWAY_ADDR", "TRAPOS_GATEWAY_CERT", "TRAPOS_GATEWAY_KEY", "TRAPOS_GATEWAY_AUTH", "TRAPOS_LOG_LEVEL", "TRAPOS_LOG_FORMAT",
}

// installEnvironment is the environment that the service will have: this one, else what the last installation was told.
// Secrets are looked at later, see installSecrets.
func installEnvironment(m *managed, record *service.Record) func(string) string {
	config, state, runtime := service.SystemDirs()
	return func(name string) string {
		switch name {
		case service.SecretPassword, service.SecretToken:
			return "given"
		case service.SecretPassword + "_FILE", service.SecretToken + "_FILE", "CREDENTIALS_DIRECTORY", "RUNTIME_DIRECTORY", "STATE_DIRECTORY", "CONFIGURATION_DIRECTORY":
			return "" // of a service that this command was started by
		case "TRAPOS_STATE_DIR":
			if m.system {
				return state
			}
		case "TRAPOS_RUNTIME_DIR":
			if m.system {
				return runtime
			}
		}
		value := os.Getenv(name)
		switch {
		case value != "":
		case name == "TRAPOS_CONFIG_DIR" && record != nil:
			value = record.ConfigDir
		case name == "TRAPOS_CONFIG_DIR" && m.system:
			value = config
		case name == "TRAPOS_MCP_ADDR" && os.Getenv("MCP_PORT") != "": // which is the newer word
		case slices.Contains(recorded, name):
			value = record.Variable(name)
		}
		return value
	}
}

// newSpec is the service as it is to be. Values that are the default are left out of its definition, but for paths, which
// are made absolute: the service has another working folder.
func newSpec(m *managed, flags installFlags, getenv func(string) string, s daemon.Settings, record *service.Record) (service.Spec, error) {
	program, err := os.Executable()
	if err != nil {
		return service.Spec{}, fmt.Errorf("the program does not know where it is: %w", err)
	}
	spec := service.Spec{Program: program, ConfigDir: s.ConfigDir, StateDir: s.StateDir, MCPAddr: s.MCPAddr}
	for _, name := range recorded {
		value := getenv(name)
		switch name {
		case "TRAPOS_MCP_ADDR":
			value = s.MCPAddr // which MCP_PORT may have said
		case "TRAPOS_GATEWAY_CERT", "TRAPOS_GATEWAY_KEY":
			if value != "" {
				if value, err = filepath.Abs(value); err != nil {
					return service.Spec{}, err
				}
			}
		}
		if value != "" && value != map[string]string{"TRAPOS_MCP_ADDR": daemon.DefaultMCPAddr, "TRAPOS_GATEWAY_ADDR": daemon.DefaultGatewayAddr}[name] {
			spec.Variables = append(spec.Variables, service.Variable{Name: name, Value: value})
		}
	}
	if s.GatewayAddr != daemon.Off {
		spec.Gateway = s.GatewayAddr
	}
	if !m.system {
		if dir := os.Getenv("TRAPOS_RUNTIME_DIR"); dir != "" {
			spec.Variables = append(spec.Variables, service.Variable{Name: "TRAPOS_RUNTIME_DIR", Value: s.RuntimeDir})
		}
		return spec, nil
	}
	spec.Account, spec.Workspaces = flags.account, s.Workspaces
	if record != nil {
		if len(spec.Workspaces) == 0 {
			spec.Workspaces = record.Workspaces
		}
		if flags.account == service.DefaultAccount && record.Account != "" {
			spec.Account = record.Account
		}
	}
	return spec, nil
}

// installSecrets are the secrets to be stored; generated tells whether the password is a new one that nobody knows yet.
func installSecrets(cmd *cobra.Command, m *managed, flags installFlags, s daemon.Settings) (secrets map[string]mcpconfig.Secret, generated bool, err error) {
	secrets = map[string]mcpconfig.Secret{}
	if token := os.Getenv(service.SecretToken); token != "" {
		secrets[service.SecretToken] = mcpconfig.NewSecret(token)
	} else if stored, err := m.Secrets().Read(service.SecretToken); err != nil {
		return nil, false, err
	} else if stored.IsZero() && !daemon.IsLoopback(s.MCPAddr) {
		return nil, false, usageError(cmd, errors.New("TRAPOS_MCP_TOKEN is not set, and TRAPOS_MCP_ADDR is beyond loopback: set a token, or use 127.0.0.1"))
	}
	switch {
	case flags.generate && flags.passwordFile != "":
		return nil, false, usageError(cmd, errors.New("--generate-password and --password-file exclude each other"))
	case flags.generate:
		secrets[service.SecretPassword] = service.GenerateSecret()
		return secrets, true, nil
	case flags.passwordFile != "":
		secret, err := readGivenSecret(cmd.InOrStdin(), flags.passwordFile)
		if err != nil {
			return nil, false, err
		}
		secrets[service.SecretPassword] = secret
	case os.Getenv(service.SecretPassword) != "":
		secrets[service.SecretPassword] = mcpconfig.NewSecret(os.Getenv(service.SecretPassword))
	case s.GatewayAddr != daemon.Off:
		stored, err := m.Secrets().Read(service.SecretPassword)
		if err == nil && stored.IsZero() {
			err = usageError(cmd, errors.New("there is no secret for computers: set TRAPOS_SERVER_PASSWORD, give --password-file FILE or --generate-password, or set TRAPOS_GATEWAY_ADDR=off"))
		}
		return secrets, false, err
	}
	return secrets, false, nil
}

func readGivenSecret(stdin io.Reader, path string) (mcpconfig.Secret, error) {
	var secret mcpconfig.Secret
	var err error
	if path == "-" {
		secret, err = service.ReadSecret(stdin)
	} else {
		secret, err = service.ReadSecretFile(path)
	}
	if err != nil && !errors.Is(err, service.ErrRefused) {
		err = &codedError{daemon.ErrUsage, fmt.Errorf("the secret cannot be read: %w", err)}
	}
	return secret, coded(err)
}

// storeWorkspaces adds workspaces to the stored list of this user's service; those that it has already stay as they are.
func storeWorkspaces(s daemon.Settings) error {
	report, err := daemon.StoredWorkspaces(s.StateDir)
	if err != nil {
		return err
	}
	for _, dir := range s.Workspaces {
		if slices.ContainsFunc(report.Workspaces, func(w daemon.Workspace) bool { return w.Path == filepath.Clean(dir) }) {
			continue
		}
		if _, err := daemon.AddWorkspace(s.StateDir, dir, false); err != nil {
			return err
		}
	}
	return nil
}
