package daemon

import (
	"context"
	"io"
	"net/url"
	"strings"

	"github.com/traposd/traposd/daemon/bridge"
	"github.com/traposd/traposd/mcpconfig"
)

// BridgeView is what a client behind the bridge sees of the service, as others say it in the URL that they use.
type BridgeView struct {
	Path    string // below /mcp: "w/WORKSPACE" or "s/SERVER"; empty: all
	Compact bool   // find-tools and call-tool in place of a list
}

// at is the URL of the view, from that of the listener.
func (v BridgeView) at(listener string) (string, error) {
	parsed, err := url.Parse(listener)
	if err != nil {
		return "", err
	}
	if kind, name, ok := strings.Cut(v.Path, "/"); ok {
		parsed = parsed.JoinPath(kind, url.PathEscape(name))
	}
	if v.Compact {
		parsed.RawQuery = "compact"
	}
	return parsed.String(), nil
}

// Valid fails with ErrUsage if there can be no such view.
func (v BridgeView) Valid() error {
	kind, name, _ := strings.Cut(v.Path, "/")
	if v.Path == "" || (kind == "w" || kind == "s") && name != "" && name != "." && name != ".." && !strings.Contains(name, "/") {
		return nil
	}
	return failf(ErrUsage, "--view is w/WORKSPACE or s/SERVER, with a name that `traposd status` shows; it is %q", v.Path)
}

// Bridge carries a client that only starts processes to the running service of that runtime folder, until in ends. It fails
// with ErrNotRunning if there is none at the start; later it waits for one that restarts.
func Bridge(ctx context.Context, runtimeDir string, token mcpconfig.Secret, view BridgeView, in io.Reader, out io.Writer) error {
	if err := view.Valid(); err != nil {
		return err
	}
	control := NewControlClient(runtimeDir)
	return bridge.Run(ctx, bridge.Options{
		Locate: func(ctx context.Context) (string, error) {
			service, err := control.Service(ctx)
			if err != nil {
				return "", err
			}
			return view.at(service.MCP)
		},
		Token: token.Reveal, In: in, Out: out,
	})
}
