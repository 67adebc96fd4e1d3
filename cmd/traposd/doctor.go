package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon/clients"
	"github.com/traposd/traposd/daemon/doctor"
)

func newDoctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Examine the installation and say what to do about what is wrong",
		Long: "Looks at the service, its settings and folders, the endpoint, the configuration files, the servers, the computers and\n" +
			"the clients on this machine, and says for each fault what it is and what to do. It changes nothing. Exits 1 if something\n" +
			"does not work.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := control()
			if err != nil {
				return err
			}
			places, err := clients.DefaultPlaces()
			if err != nil {
				return err
			}
			report := doctor.Examine(cmd.Context(), doctor.Options{Service: c, Getenv: os.Getenv, Places: places, Version: version()})
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), report)
			} else {
				err = showFindings(cmd.OutOrStdout(), report)
			}
			if err == nil && !report.Healthy() {
				err = &toldError{cause: errors.New("something does not work")}
			}
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func showFindings(w io.Writer, report doctor.Report) error {
	for _, f := range report.Findings {
		if _, err := fmt.Fprintf(w, "%-8s %s: %s\n", f.Level, f.Subject, printable(f.Message)); err != nil {
			return err
		}
		if f.Remedy != "" {
			_, _ = fmt.Fprintf(w, "         → %s\n", printable(f.Remedy))
		}
	}
	return nil
}
