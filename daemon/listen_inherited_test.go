package daemon

import (
	"context"
	"errors"
	"net"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/traposd/traposd/mcpconfig"
)

func listenOn(t *testing.T, addr string) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestInheritedSocketsAreUsed(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	mcp, gateway, spare := listenOn(t, "127.0.0.1:0"), listenOn(t, "127.0.0.1:0"), listenOn(t, "127.0.0.1:0")
	in := &inherited{log: zap.New(core), sockets: map[string]net.Listener{inheritedMCP: mcp, inheritedGateway: gateway, "spare": spare}}
	s := Settings{MCPAddr: mcp.Addr().String(), GatewayAddr: "127.0.0.1:1"}
	got, err := in.mcp(s)
	if err != nil || got != mcp {
		t.Errorf("mcp: %v %v", got, err)
	}
	if logs.Len() != 0 {
		t.Errorf("the right address is worth no word: %v", logs.All())
	}
	if in.gateway(s) != gateway || in.gateway(s) != nil {
		t.Error("the gateway's socket can be taken once")
	}
	if logs.Len() != 1 || logs.All()[0].ContextMap()["variable"] != "TRAPOS_GATEWAY_ADDR" {
		t.Errorf("another address: %v", logs.All())
	}
	in.close()
	if err := spare.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("what nobody takes is closed: %v", err)
	}
}

func TestInheritedSocketBeyondLoopbackNeedsAToken(t *testing.T) {
	s := Settings{MCPAddr: DefaultMCPAddr}
	in := &inherited{log: zap.NewNop(), sockets: map[string]net.Listener{inheritedMCP: listenOn(t, ":0")}}
	if _, err := in.mcp(s); !errors.Is(err, ErrSettings) {
		t.Errorf("without a token: %v", err)
	}
	s.Token = mcpconfig.NewSecret("t")
	in.sockets[inheritedMCP] = listenOn(t, ":0")
	if l, err := in.mcp(s); err != nil || l == nil {
		t.Errorf("with a token: %v %v", l, err)
	}
}

func TestSameAddress(t *testing.T) {
	for _, c := range []struct {
		bound, setting string
		want           bool
	}{
		{"127.0.0.1:4445", "127.0.0.1:4445", true},
		{"127.0.0.1:4445", "127.0.0.1:4446", false},
		{"127.0.0.1:4445", "127.0.0.2:4445", false},
		{"127.0.0.1:4445", "localhost:4445", true},
		{"127.0.0.1:4445", ":4445", false},
		{"0.0.0.0:4445", ":4445", true},
		{"[::]:4445", ":4445", true},
		{"[::]:4445", "0.0.0.0:4445", false},
		{"127.0.0.1:4445", "off", false},
	} {
		addr, err := net.ResolveTCPAddr("tcp", c.bound)
		if err != nil {
			t.Fatal(err)
		}
		if got := sameAddress(addr, c.setting); got != c.want {
			t.Errorf("%s bound, %s set: %v", c.bound, c.setting, got)
		}
	}
}
