package daemon

import (
	"net"
	"strconv"

	"go.uber.org/zap"

	"github.com/traposd/traposd/daemon/notify"
)

// Names of the sockets that a service manager hands over (FileDescriptorName= of their units).
const (
	inheritedMCP     = "mcp"
	inheritedGateway = "gateway"
)

// inherited are the sockets that the service manager has bound already. It keeps them over a restart, so that whoever
// connects meanwhile waits instead of being refused.
type inherited struct {
	sockets map[string]net.Listener // those that nobody has taken yet
	log     *zap.Logger
}

func (d *Daemon) inherit() *inherited {
	sockets, err := notify.Sockets()
	if err != nil {
		d.log.Warn("a socket of the service manager cannot be used", zap.Error(err))
	}
	return &inherited{sockets: sockets, log: d.log}
}

// mcp is the listener's socket; nil if there is none. Where it listens is a setting like any other: it needs a token
// beyond loopback.
func (i *inherited) mcp(s Settings) (net.Listener, error) {
	listener := i.take(inheritedMCP, s.MCPAddr, "TRAPOS_MCP_ADDR")
	if listener == nil || s.Token.Reveal() != "" || isLoopback(listener.Addr().String()) {
		return listener, nil
	}
	_ = listener.Close()
	return nil, failf(ErrSettings, "TRAPOS_MCP_TOKEN is not set, and the service manager's socket is beyond loopback (%s): set a token, or use 127.0.0.1", listener.Addr())
}

func (i *inherited) gateway(s Settings) net.Listener {
	return i.take(inheritedGateway, s.GatewayAddr, "TRAPOS_GATEWAY_ADDR")
}

func (i *inherited) take(name, addr, variable string) net.Listener {
	listener := i.sockets[name]
	delete(i.sockets, name)
	if listener != nil && !sameAddress(listener.Addr(), addr) {
		i.log.Warn("the service manager listens elsewhere than the settings say, and its socket is the one that counts: run traposd install with the new setting",
			zap.String("socket", listener.Addr().String()), zap.String("variable", variable))
	}
	return listener
}

// close closes what nobody took.
func (i *inherited) close() {
	for name, listener := range i.sockets {
		i.log.Debug("a socket of the service manager is not needed", zap.String("name", name))
		_ = listener.Close()
	}
}

// sameAddress tells whether a bound address is what a setting (host:port) asks for. A host's name is not resolved: it is
// taken to be right.
func sameAddress(bound net.Addr, setting string) bool {
	tcp, ok := bound.(*net.TCPAddr)
	host, port, err := net.SplitHostPort(setting)
	if !ok || err != nil {
		return false
	}
	if port != strconv.Itoa(tcp.Port) {
		return false
	}
	ip := net.ParseIP(host)
	return ip == nil && (host != "" || tcp.IP.IsUnspecified()) || ip.Equal(tcp.IP)
}
