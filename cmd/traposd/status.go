package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon"
)

func newStatusCommand() *cobra.Command {
	var asJSON, watching bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the service at a glance",
		Long:  "Shows the service, its files, servers, computers and clients. Exits 0 if all is well, 1 if something is not, 3 if it is not running.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := control()
			if err != nil {
				return err
			}
			if watching && asJSON {
				return usageError(cmd, errors.New("give one of --watch and --json"))
			}
			if watching {
				return watchStatus(cmd.Context(), cmd.OutOrStdout(), c)
			}
			report, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), report)
			} else {
				err = showStatus(cmd.OutOrStdout(), report)
			}
			if err == nil && report.Degraded() {
				err = &toldError{cause: errors.New("degraded")}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&watching, "watch", false, "stay and show it anew every second, until interrupted")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// watchDelay is the time between two looks of `traposd status --watch`.
const watchDelay = time.Second

// Control sequences of terminals (ECMA-48): to the upper left corner, erase to the end of the line, of the screen; and
// those of DEC's private mode 7: cut long lines, wrap them again.
const (
	cursorHome  = "\x1b[H"
	eraseLine   = "\x1b[K"
	eraseScreen = "\x1b[J"
	cutLines    = "\x1b[?7l"
	wrapLines   = "\x1b[?7h"
)

// watchStatus draws the status over itself until ctx ends; a service that is away is waited for.
func watchStatus(ctx context.Context, w io.Writer, c *daemon.ControlClient) error {
	tick := time.NewTicker(watchDelay)
	defer tick.Stop()
	for {
		var text bytes.Buffer
		report, err := c.Status(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			_, _ = fmt.Fprintln(&text, oneLine(err.Error()))
		default:
			_ = showStatus(&text, report) // a buffer takes all
		}
		frame := cutLines + cursorHome + strings.ReplaceAll(text.String(), "\n", eraseLine+"\n") + eraseScreen + wrapLines
		if _, err := io.WriteString(w, frame); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func showStatus(w io.Writer, r daemon.StatusReport) error {
	gateway := r.Service.Gateway
	if gateway == "" {
		gateway = "off"
	}
	_, _ = fmt.Fprintf(w, "traposd %s, process %d, up %s\nmcp      %s\ngateway  %s\n",
		r.Service.Program, r.Service.PID, time.Since(r.Service.Since).Round(time.Second), r.Service.MCP, gateway)
	for _, f := range r.Files {
		if f.Exists || f.Scope == "workspace" {
			_, _ = fmt.Fprintf(w, "file     %s (%s%s)\n", shownPath(f.Path), f.Scope, fileState(f))
		}
	}
	_, _ = fmt.Fprintln(w)
	if err := showServers(w, daemon.ServersReport{Servers: r.Servers, Problems: r.Problems}, false); err != nil {
		return err
	}
	if r.Service.Gateway != "" {
		_, _ = fmt.Fprintln(w)
		shown := r.Computers[:min(len(r.Computers), statusRows)]
		if err := showComputers(w, daemon.ComputersReport{Computers: shown}, false); err != nil {
			return err
		}
		showMore(w, len(r.Computers)-len(shown), "computers")
	}
	_, _ = fmt.Fprintln(w)
	shown := r.Sessions[:min(len(r.Sessions), statusRows)]
	if err := showSessions(w, shown); err != nil {
		return err
	}
	showMore(w, len(r.Sessions)-len(shown), "sessions")
	for i, e := range r.Warnings {
		if i == 0 {
			_, _ = fmt.Fprintln(w, "\nlately in the log:")
		}
		_, _ = fmt.Fprintf(w, "%s  %s  %s\n", e.Time.Local().Format(time.TimeOnly), e.Level, cell(e.Text()))
	}
	return nil
}

// statusRows is how many computers, and how many sessions, a glance shows: there can be thousands of each.
const statusRows = 20

func showMore(w io.Writer, left int, command string) {
	if left > 0 {
		_, _ = fmt.Fprintf(w, "… and %d more; see `traposd %s`\n", left, command)
	}
}

func fileState(f daemon.FileReport) string {
	switch {
	case !f.Exists:
		return ", not there"
	case f.LastGood:
		return ", broken, the last good version is kept"
	case !f.OK:
		return ", broken"
	case f.ModTime != nil:
		return ", of " + f.ModTime.Local().Format(time.DateTime)
	}
	return ""
}
