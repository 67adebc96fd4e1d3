package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// commandTimeout bounds each command of the service manager; a start or stop takes as long as the service's definition
// allows.
const commandTimeout = 2 * time.Minute

// runCommand runs a command; its error holds what it said. The environment is ours without the secrets.
func runCommand(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "TRAPOS_") })
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil {
		said := strings.Join(strings.Fields(stderr.String()), " ")
		var exit *exec.ExitError
		if errors.As(err, &exit) && said != "" {
			err = errors.New(said)
		}
		err = fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return stdout.String(), err
}
