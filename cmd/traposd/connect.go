package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon"
	"github.com/traposd/traposd/daemon/clients"
)

func newConnectCommand() *cobra.Command {
	var (
		show      bool
		file, url string
	)
	names := clientNames()
	cmd := &cobra.Command{
		Use:   "connect " + strings.Join(names, "|"),
		Short: "Write this service into a client's own configuration",
		Long: "Writes an entry named traposd for the running service into the client's own file of this user, which is made if it is\n" +
			"not there. Nothing else in the file changes. If TRAPOS_MCP_TOKEN is set, the entry refers to that variable; the token\n" +
			"itself is not written. A client that can only start processes takes {\"command\": \"traposd\", \"args\": [\"stdio\"]}.",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			client := clients.Find(args[0])
			if url == "" {
				var err error
				if url, err = listenerURL(cmd); err != nil {
					return err
				}
			}
			token, err := daemon.ListenerToken(os.Getenv)
			if err != nil {
				return err
			}
			withToken := token.Reveal() != ""
			if file == "" {
				places, err := clients.DefaultPlaces()
				if err != nil {
					return err
				}
				file = client.Path(places)
			}
			if show {
				_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "for %s:\n", shownPath(file))
				_, err := cmd.OutOrStdout().Write(client.Snippet(url, withToken))
				return err
			}
			return connect(cmd, client, file, url, withToken)
		},
	}
	cmd.Flags().BoolVar(&show, "print", false, "print what would be written, and write nothing")
	cmd.Flags().StringVar(&file, "file", "", "the client's configuration `file`, if it is not the usual one")
	cmd.Flags().StringVar(&url, "url", "", "the `url` to write; without it the running service is asked, and its usual one is taken if it is not running")
	return cmd
}

func connect(cmd *cobra.Command, client *clients.Client, file, url string, token bool) error {
	outcome, err := client.Connect(file, url, token)
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	did := map[clients.Outcome]string{clients.Already: "is connected already by", clients.Added: "is connected by a new entry in", clients.Replaced: "is connected by a changed entry in"}
	_, err = fmt.Fprintf(w, "%s %s %s: %s\n", client.Title, did[outcome], shownPath(file), client.After)
	if token && err == nil {
		_, err = fmt.Fprintf(w, "it needs %s in its environment\n", clients.TokenVariable)
	}
	return err
}

func clientNames() []string {
	var names []string
	for _, c := range clients.All() {
		names = append(names, c.Name)
	}
	return names
}

// listenerURL is where the running service listens; one that does not run will do so at the usual place.
func listenerURL(cmd *cobra.Command) (string, error) {
	c, err := control()
	if err != nil {
		return "", err
	}
	service, err := c.Service(cmd.Context())
	if errors.Is(err, daemon.ErrNotRunning) {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "the service is not running: its usual address is written")
		return "http://" + daemon.DefaultMCPAddr + "/mcp", nil
	}
	return service.MCP, err
}
