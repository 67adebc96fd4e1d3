package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/traposd/traposd/lua"
)

const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10

	// transferTimeout bounds an answer that is not a stream, and what computers send that is no WebSocket.
	transferTimeout = 30 * time.Second

	// drainTimeout is how long a stop waits for connections once every request has been dealt with: those that are left
	// have sent half a request or none, or do not read their answer.
	drainTimeout = 500 * time.Millisecond
)

// sockets are the two bound addresses; gateway is nil when it is off.
type sockets struct {
	mcp, gateway net.Listener
}

// bind takes both addresses or neither.
func (d *Daemon) bind(ctx context.Context) (s sockets, err error) {
	if d.settings.GatewayAddr != Off && d.settings.GatewayCert != "" {
		d.certificate, err = readCertificate(d.settings.GatewayCert, d.settings.GatewayKey, d.log.Named("gateway"))
		if err != nil {
			return sockets{}, err
		}
	}
	inherited := d.inherit()
	defer inherited.close()
	if s.mcp, err = inherited.mcp(d.settings); err != nil {
		return sockets{}, err
	}
	if s.mcp == nil {
		if s.mcp, err = listen(ctx, d.settings.MCPAddr, "the MCP listener", "MCP_PORT"); err != nil {
			return sockets{}, err
		}
	}
	d.mcpAddr = s.mcp.Addr()
	if d.settings.GatewayAddr == Off {
		return s, nil
	}
	if s.gateway = inherited.gateway(d.settings); s.gateway == nil {
		if s.gateway, err = listen(ctx, d.settings.GatewayAddr, "the gateway", "TRAPOS_GATEWAY_ADDR"); err != nil {
			return sockets{}, errors.Join(err, s.mcp.Close())
		}
	}
	d.gatewayAddr = s.gateway.Addr()
	if d.certificate != nil {
		s.gateway = tls.NewListener(s.gateway, d.certificate.config())
	}
	return s, nil
}

func listen(ctx context.Context, addr, what, variable string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	switch {
	case err == nil:
		return listener, nil
	case errors.Is(err, syscall.EADDRINUSE) || isAddressInUse(err):
		return nil, failf(ErrAddressInUse, "%s cannot use %s: another program listens there; end it, or choose another by %s", what, addr, variable)
	}
	return nil, failf(ErrSettings, "%s cannot use %s: %v; choose another by %s", what, addr, err, variable)
}

// httpServers are the two HTTP servers.
type httpServers struct {
	all    []*http.Server
	wg     sync.WaitGroup
	failed chan error // a server that ended by itself; holds one each
}

// serve answers on the bound sockets.
func (d *Daemon) serve(s sockets) *httpServers {
	servers := &httpServers{failed: make(chan error, 2)}
	servers.start(s.mcp, &http.Server{Handler: d.routes()}, d.log.Named("http"))
	if s.gateway != nil {
		servers.start(s.gateway, &http.Server{Handler: d.gateway, ReadTimeout: transferTimeout}, d.log.Named("http"))
	}
	return servers
}

func (s *httpServers) start(listener net.Listener, server *http.Server, log *zap.Logger) {
	// What a peer does wrong is no news at the default level.
	errorLog, err := zap.NewStdLogAt(log, zap.DebugLevel)
	if err != nil {
		errorLog = zap.NewStdLog(log)
	}
	// A ReadTimeout would cut the streams of the MCP listener. The WriteTimeout does not: they set it anew at each write.
	server.WriteTimeout = transferTimeout
	server.ReadHeaderTimeout, server.IdleTimeout = headerTimeout, idleTimeout
	server.MaxHeaderBytes, server.ErrorLog = maxHeaderBytes, errorLog
	server.DisableGeneralOptionsHandler = true // `OPTIONS *` is answered like everything else: the guard comes first
	s.all = append(s.all, server)
	s.wg.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	})
}

// close ends both servers and waits for them; what is left after drainTimeout, or when ctx ends, is cut off.
func (s *httpServers) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	var errs []error
	for _, server := range s.all {
		if err := server.Shutdown(ctx); err != nil {
			errs = append(errs, server.Close())
		}
	}
	s.wg.Wait()
	return errors.Join(errs...)
}

func luaFiles(version string) http.Handler { return lua.Handler(version) }
