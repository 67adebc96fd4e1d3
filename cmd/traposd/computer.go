package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/traposd/traposd/daemon"
)

func newComputerCommand() *cobra.Command {
	opts := daemon.ComputerOptions{}
	cmd := &cobra.Command{
		Use:   "computer",
		Short: "Run an emulated computer that connects to a gateway, without Minecraft",
		Long: "Boots an emulated ComputerCraft computer with the programs that a real one gets, connected to the gateway.\n" +
			"Its terminal is printed line by line, and what is typed goes to its shell. The gateway's secret is taken from\n" +
			"TRAPOS_SERVER_PASSWORD (or …_FILE).",
		Example: "  TRAPOS_SERVER_PASSWORD=… traposd computer --id 7 --label miner",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.URL == "" {
				opts.URL = gatewayURL(cmd.Context())
			}
			if err := opts.Validate(); err != nil {
				return usageError(cmd, err)
			}
			var err error
			if opts.Password, err = daemon.ComputerPassword(os.Getenv); err != nil {
				return err
			}
			opts.Stdout, opts.Stdin = cmd.OutOrStdout(), cmd.InOrStdin()
			opts.Logger = daemon.NewLogger(zap.NewAtomicLevelAt(zapcore.WarnLevel), daemon.LogAuto)
			return daemon.RunComputer(cmd.Context(), opts)
		},
	}
	f := cmd.Flags()
	f.IntVar(&opts.ID, "id", 0, "the computer's `number`")
	f.StringVar(&opts.Label, "label", "", "the computer's label, at most 32 characters")
	f.StringVar(&opts.URL, "url", "", "the gateway's `url` (default: that of the service that runs here, else "+defaultGatewayURL+")")
	f.StringVar(&opts.Network, "network", "", "the `network` that it joins")
	f.StringVar(&opts.Dir, "dir", "", "the `folder` that holds its disk; in memory if left out")
	return cmd
}

const defaultGatewayURL = "ws://" + daemon.DefaultGatewayAddr + "/gateway"

// gatewayURL is where the service that runs here listens for computers; if none does, where it would by default.
func gatewayURL(ctx context.Context) string {
	c, err := control()
	if err != nil {
		return defaultGatewayURL
	}
	service, err := c.Service(ctx)
	if err != nil || service.Gateway == "" {
		return defaultGatewayURL
	}
	return service.Gateway
}
