package daemon

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"time"

	"go.uber.org/zap"
)

// control answers the command line over a socket that only the service's own user can open. It speaks HTTP, but is on no
// TCP port: no MCP client and no web page can reach it.
type control struct {
	server   *http.Server
	listener net.Listener
	served   chan error
}

const (
	controlTimeout      = 30 * time.Second // for one answer, a reload included
	controlMaxBodyBytes = 64 << 10
)

// startControl takes over an open socket.
func startControl(listener net.Listener, ops operations, log *zap.Logger) *control {
	c := &control{
		listener: listener,
		served:   make(chan error, 1),
		server: &http.Server{
			Handler:           http.MaxBytesHandler(controlRoutes(ops), controlMaxBodyBytes),
			ReadHeaderTimeout: controlTimeout, ReadTimeout: controlTimeout, WriteTimeout: controlTimeout,
			ErrorLog: zap.NewStdLog(log),
		},
	}
	go func() { c.served <- c.server.Serve(listener) }()
	return c
}

// close ends the socket and waits for the answers under way; what is left after drainTimeout, or when ctx ends, is cut off.
func (c *control) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	var err error
	if c.server.Shutdown(ctx) != nil {
		err = c.server.Close()
	}
	if served := <-c.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// ownFolder makes dir if it is missing and refuses it if somebody else could replace what is in it.
func ownFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return failf(ErrSettings, "the runtime folder cannot be made: %v; choose another by TRAPOS_RUNTIME_DIR", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return failf(ErrSettings, "the runtime folder: %v", err)
	}
	if !info.IsDir() || !ownedPrivately(info) {
		return failf(ErrSettings, "the runtime folder %s must be a folder of this user that nobody else can write; "+
			"remove it or choose another by TRAPOS_RUNTIME_DIR", dir)
	}
	return nil
}
