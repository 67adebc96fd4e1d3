package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/traposd/traposd/daemon"
)

// completionTimeout bounds what a press of the tab key may cost.
const completionTimeout = 3 * time.Second

// shells are those that cobra can write completions for.
var shells = []string{"bash", "zsh", "fish", "powershell"}

func newCompletionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion " + strings.Join(shells, "|"),
		Short: "Print the completions for a shell",
		Long: "Prints a script that completes commands, flags, and the names of servers, tools and computers of the running service.\n" +
			"The Linux packages install it; by hand it is put where the shell looks, once, and the next shell has it. In bash it\n" +
			"needs the package bash-completion.",
		Example: "  traposd completion bash > ~/.local/share/bash-completion/completions/traposd\n" +
			"  traposd completion zsh > \"${fpath[1]}/_traposd\"\n" +
			"  traposd completion fish > ~/.config/fish/completions/traposd.fish\n" +
			"  traposd completion powershell >> $PROFILE",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root, w := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(w, true)
			case "zsh":
				return root.GenZshCompletion(w)
			case "fish":
				return root.GenFishCompletion(w, true)
			default: // ValidArgs leaves no other
				return root.GenPowerShellCompletionWithDesc(w)
			}
		},
	}
}

// candidates asks the running service for what fits an argument.
type candidates func(ctx context.Context, cmd *cobra.Command) ([]string, error)

// addCompletions says for each command below root what its arguments and flags can be. A command that takes none offers no
// files either.
func addCompletions(root *cobra.Command) {
	first := map[string]cobra.CompletionFunc{
		"traposd restart":          firstOf(serverNames),
		"traposd call":             firstOf(callableTools),
		"traposd exec":             firstOf(computerNames),
		"traposd approve":          firstOf(pendingNames),
		"traposd workspace remove": firstOf(workspacePaths),
		"traposd workspace add":    onlyFolders,
		"traposd man":              onlyFolders,
	}
	flags := map[string]cobra.CompletionFunc{
		"server": always(serverNames), "computer": always(computerNames), "network": always(networkNames),
		"workspace": onlyFolders, "config-dir": onlyFolders, "dir": onlyFolders,
	}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		switch complete := first[cmd.CommandPath()]; {
		case complete != nil:
			cmd.ValidArgsFunction = complete
		case len(cmd.ValidArgs) == 0 && !strings.Contains(cmd.Use, " "):
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
		for name, complete := range flags {
			if cmd.Flags().Lookup(name) != nil {
				// It fails only for a flag that is not there, or has completions already.
				_ = cmd.RegisterFlagCompletionFunc(name, complete)
			}
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(root)
}

// always offers the candidates. A service that does not run, or does not answer in time, is no message amid a line that is
// being typed: then there are none.
func always(list candidates) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		found, err := list(ctx, cmd)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		// A shell puts what it is offered into the line as it is. Servers and computers choose their own names, and one like
		// $(…) would be run.
		found = slices.DeleteFunc(found, func(name string) bool { return !inert(name) })
		slices.Sort(found)
		return slices.Compact(found), cobra.ShellCompDirectiveNoFileComp
	}
}

// firstOf offers the candidates for the first argument, and nothing for the others.
func firstOf(list candidates) cobra.CompletionFunc {
	offer := always(list)
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offer(cmd, args, typed)
	}
}

func onlyFolders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// inert reports whether a name means nothing but itself to every shell, and is no flag.
func inert(name string) bool {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:/@+-", r)
	}
	return name != "" && name[0] != '-' && !strings.ContainsFunc(name, func(r rune) bool { return !safe(r) })
}

func serverNames(ctx context.Context, _ *cobra.Command) (names []string, err error) {
	c, err := control()
	if err != nil {
		return nil, err
	}
	report, err := c.Servers(ctx)
	for _, s := range report.Servers {
		names = append(names, s.Name)
	}
	return names, err
}

// callableTools are those of the server that the line names, or of all.
func callableTools(ctx context.Context, cmd *cobra.Command) (names []string, err error) {
	server, err := cmd.Flags().GetString("server")
	if err != nil {
		return nil, err
	}
	tools, err := listTools(ctx, server)
	for _, raw := range tools {
		var tool toolSummary
		if err := json.Unmarshal(raw, &tool); err != nil {
			return nil, err
		}
		names = append(names, tool.Name)
	}
	return names, err
}

func computers(ctx context.Context) ([]daemon.ComputerReport, error) {
	c, err := control()
	if err != nil {
		return nil, err
	}
	report, err := c.Computers(ctx)
	return report.Computers, err
}

// computerNames are whole names, or the number where the label could not be typed as it is; a number is enough while it is
// the only one.
func computerNames(ctx context.Context, _ *cobra.Command) (names []string, err error) {
	list, err := computers(ctx)
	for _, c := range list {
		name := c.TraposID
		if !inert(name) {
			name = strconv.Itoa(c.ComputerID)
		}
		names = append(names, name)
	}
	return names, err
}

func networkNames(ctx context.Context, _ *cobra.Command) (names []string, err error) {
	list, err := computers(ctx)
	for _, c := range list {
		names = append(names, c.Network)
	}
	return names, err
}

func pendingNames(ctx context.Context, _ *cobra.Command) (names []string, err error) {
	c, err := control()
	if err != nil {
		return nil, err
	}
	report, err := c.Pending(ctx)
	for _, p := range report.Pending {
		names = append(names, p.Name)
	}
	return names, err
}

func workspacePaths(ctx context.Context, _ *cobra.Command) (paths []string, err error) {
	c, err := control()
	if err != nil {
		return nil, err
	}
	report, err := c.Workspaces(ctx)
	if err != nil {
		return nil, fmt.Errorf("the stored list: %w", err)
	}
	for _, w := range report.Workspaces {
		paths = append(paths, w.Path)
	}
	return paths, nil
}
