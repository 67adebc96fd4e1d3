package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"

	"go.uber.org/zap"

	"github.com/traposd/traposd/lua"
	"github.com/traposd/traposd/lua/craftos"
	"github.com/traposd/traposd/mcpconfig"
)

// ComputerOptions describe an emulated computer.
type ComputerOptions struct {
	ID       int
	Label    string
	URL      string // the gateway, ws://…/gateway
	Password mcpconfig.Secret
	Network  string // empty: the default network
	Dir      string // host folder that holds its disk; empty: in memory
	Stdout   io.Writer
	Stdin    io.Reader // its keyboard, line by line; nil: none
	Logger   *zap.Logger
}

// networkName is what the gateway accepts (gateway protocol, hello).
var networkName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Validate says what of the options could not work, in terms of the command line's flags.
func (o *ComputerOptions) Validate() error {
	u, err := url.Parse(o.URL)
	switch {
	case o.ID < 0:
		return errors.New("--id must not be negative")
	case len(o.Label) > craftos.MaxLabel:
		return fmt.Errorf("--label must be at most %d characters", craftos.MaxLabel)
	case err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "":
		return errors.New("--url must be a WebSocket address, like ws://127.0.0.1:4444/gateway")
	case o.Network != "" && !networkName.MatchString(o.Network):
		return errors.New("--network must be 1 to 64 letters, digits, dots, dashes and underscores")
	}
	return nil
}

// RunComputer boots an emulated computer with our programs on its disk, which connects to the gateway as one in Minecraft
// does, and runs it until it is shut down or ctx ends.
func RunComputer(ctx context.Context, opts ComputerOptions) error {
	c, err := newComputer(opts)
	if err != nil {
		return err
	}
	if opts.Stdin != nil {
		// A read of a terminal cannot be called back; this goroutine ends with its input or with the process.
		go func() {
			for lines := bufio.NewScanner(opts.Stdin); lines.Scan(); {
				if c.TypeLine(ctx, lines.Text()) != nil {
					return // the computer is gone
				}
			}
		}()
	}
	if err := c.Run(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

func newComputer(opts ComputerOptions) (*craftos.Computer, error) {
	settings := map[string]any{"cloud.url": opts.URL, "cloud.password": opts.Password.Reveal()}
	if opts.Network != "" {
		settings["cloud.network"] = opts.Network
	}
	return craftos.New(craftos.Options{
		ID: opts.ID, Label: opts.Label, Files: lua.Files(), Dir: opts.Dir,
		AllowPrivate: true, // the person who starts it is the world's owner
		Settings:     settings, Stdout: opts.Stdout, Console: isTerminal(opts.Stdin) && isTerminal(opts.Stdout), Logger: opts.Logger,
	})
}

// isTerminal reports whether a person may sit at v: whether it is a file that is a character device.
func isTerminal(v any) bool {
	file, ok := v.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
