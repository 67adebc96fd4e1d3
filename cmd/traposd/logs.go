package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon/recent"
)

// logQuery is what of the log is wanted.
type logQuery struct {
	server, computer string
	lines            int
	follow, asJSON   bool
}

func newLogsCommand() *cobra.Command {
	var (
		flags scopeFlags
		q     logQuery
	)
	cmd := &cobra.Command{
		Use:   "logs",
		Short: "Show the service's log",
		Long: "Shows the log of the installed service, from the journal where systemd keeps one. Of a service that was started by\n" +
			"hand, and elsewhere, it shows the last 200 events that the running service remembers.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if q.lines < 1 {
				return usageError(cmd, errors.New("--lines must be at least 1"))
			}
			if m, err := flags.manage(cmd); err == nil && strings.HasPrefix(m.LogHint(), "journalctl ") {
				if state, err := m.State(cmd.Context()); err == nil && state.Installed {
					return showJournal(cmd, strings.Fields(m.LogHint()), q)
				}
			}
			return showEvents(cmd.Context(), cmd.OutOrStdout(), q)
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVarP(&q.follow, "follow", "f", false, "go on with what is logged from now on, until interrupted")
	cmd.Flags().StringVar(&q.server, "server", "", "only what is about this `server`")
	cmd.Flags().StringVar(&q.computer, "computer", "", "only what is about this `computer`, like 12:miner")
	cmd.Flags().IntVarP(&q.lines, "lines", "n", 50, "how many of the last lines")
	jsonFlag(cmd, &q.asJSON)
	return cmd
}

// showJournal runs journalctl, whose matches are the fields that the service logs (journalctl(1)).
func showJournal(cmd *cobra.Command, words []string, q logQuery) error {
	args := append(words[1:], "--no-pager", "-n", strconv.Itoa(q.lines))
	if q.follow {
		args = append(args, "-f")
	}
	if q.asJSON {
		args = append(args, "-o", "json", "--all")
	}
	if q.server != "" {
		args = append(args, "SERVER="+q.server)
	}
	if q.computer != "" {
		args = append(args, "COMPUTER="+q.computer)
	}
	run := exec.CommandContext(cmd.Context(), words[0], args...)
	run.Stdout, run.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
	err := run.Run()
	if err != nil && cmd.Context().Err() == nil { // an interruption is how following ends
		return fmt.Errorf("%s: %w", words[0], err)
	}
	return nil
}

// eventsDelay is the time between two looks of `traposd logs -f` at what a running service remembers.
const eventsDelay = 500 * time.Millisecond

func showEvents(ctx context.Context, w io.Writer, q logQuery) error {
	c, err := control()
	if err != nil {
		return err
	}
	tick := time.NewTicker(eventsDelay)
	defer tick.Stop()
	var seq uint64
	for first := true; ; first = false {
		report, err := c.Events(ctx, seq)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if n := len(report.Events); n > 0 {
			seq = report.Events[n-1].Seq
		}
		wanted := q.filter(report.Events)
		if first {
			wanted = wanted[max(0, len(wanted)-q.lines):]
		}
		for _, e := range wanted {
			if err := showEvent(w, e, q.asJSON); err != nil {
				return err
			}
		}
		if !q.follow {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (q *logQuery) filter(events []recent.Event) (wanted []recent.Event) {
	for _, e := range events {
		if q.server != "" && e.Fields["server"] != q.server || q.computer != "" && e.Fields["computer"] != q.computer {
			continue
		}
		wanted = append(wanted, e)
	}
	return wanted
}

func showEvent(w io.Writer, e recent.Event, asJSON bool) error {
	if !asJSON {
		_, err := fmt.Fprintf(w, "%s  %-5s  %s\n", e.Time.Local().Format(time.DateTime), e.Level, printable(e.Text()))
		return err
	}
	line, err := json.Marshal(e) // one event a line, for programs that follow
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", escapeControls(line))
	return err
}
