package main

import (
	"context"
	"os"
	"runtime/pprof"
	"time"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon/bench"
)

func newBenchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what the service can do on this machine",
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBenchGatewayCommand(), newBenchFleetCommand())
	return cmd
}

func newBenchGatewayCommand() *cobra.Command {
	var opts bench.Options
	var asJSON bool
	var profile string
	cmd := &cobra.Command{
		Use:   "gateway",
		Short: "Measure the gateway with thousands of computers",
		Long: "Starts a gateway of its own on a free loopback port, and many computers in a second process, and measures: the\n" +
			"memory of an idle computer, how long it takes to ask all of them, the latency at a steady rate, the round trips at\n" +
			"saturation beside those of a bare WebSocket echo, how long a restart keeps them away, and whether anything grows\n" +
			"while they come and go. Run it on a quiet machine. A goal that is missed is shown, and is no failure.",
		Example: "  traposd bench gateway\n  traposd bench gateway --computers 1000 --churn 10m --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := opts.Validate(); err != nil {
				return usageError(cmd, err)
			}
			program, err := os.Executable()
			if err != nil {
				return err
			}
			opts.Progress = cmd.ErrOrStderr()
			opts.StartFleet = func(ctx context.Context) (bench.Fleet, error) {
				return bench.StartProcess(ctx, program, "bench", "computers")
			}
			end, err := startProfile(profile)
			if err != nil {
				return err
			}
			defer end()
			report, err := bench.Gateway(cmd.Context(), opts)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), report)
			}
			return report.Write(cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.IntVar(&opts.Computers, "computers", 10_000, "`number` of computers that are connected")
	f.IntVar(&opts.Rate, "rate", 1000, "`requests` per second while latency is measured")
	f.IntVar(&opts.Over, "over", 1000, "`number` of computers that they go to")
	f.DurationVar(&opts.Duration, "duration", 10*time.Second, "how long latency and throughput are measured, each")
	f.DurationVar(&opts.Churn, "churn", 30*time.Second, "how long computers come and go; 0 leaves it out")
	f.IntVar(&opts.ChurnRate, "churn-rate", 100, "`number` of them per second")
	f.StringVar(&profile, "cpuprofile", "", "write a profile of the gateway's process to this `file`, for go tool pprof")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// startProfile profiles the process into a file, until the function that it returns is called.
func startProfile(path string) (end func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		_ = file.Close()
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = file.Close()
	}, nil
}

// newBenchFleetCommand is the process of the computers.
func newBenchFleetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "computers", Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return bench.ServeFleet(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
