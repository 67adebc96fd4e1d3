package daemon

import (
	"context"
	"io"

	"github.com/traposd/traposd/daemon/bridge"
	"github.com/traposd/traposd/mcpconfig"
)

// Bridge carries a client that only starts processes to the running service of that runtime folder, until in ends. It fails
// with ErrNotRunning if there is none at the start; later it waits for one that restarts.
func Bridge(ctx context.Context, runtimeDir string, token mcpconfig.Secret, in io.Reader, out io.Writer) error {
	control := NewControlClient(runtimeDir)
	return bridge.Run(ctx, bridge.Options{
		Locate: func(ctx context.Context) (string, error) {
			service, err := control.Service(ctx)
			return service.MCP, err
		},
		Token: token.Reveal, In: in, Out: out,
	})
}
