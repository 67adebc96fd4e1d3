package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"

	"github.com/traposd/traposd/daemon"
)

// port sees whether an address is free for a service that does not run.
func (e *examination) port(what, addr, variable string) {
	listener, err := (&net.ListenConfig{}).Listen(e.ctx, "tcp", addr)
	switch {
	case err == nil:
		_ = listener.Close()
	case errors.Is(err, syscall.EADDRINUSE):
		e.find(Problem, "port", fmt.Sprintf("%s cannot use %s: another program listens there", what, addr), "end that program, or choose another address by "+variable)
	default:
		e.find(Problem, "port", fmt.Sprintf("%s cannot use %s: %v", what, addr, err), "choose another address by "+variable)
	}
}

// endpoint asks the listener as a client would.
func (e *examination) endpoint() {
	if e.status == nil {
		return
	}
	token, err := daemon.ListenerToken(e.Getenv)
	if err != nil {
		e.find(Problem, "endpoint", err.Error(), "")
		return
	}
	client := daemon.NewRPCClient(e.status.Service.MCP, token)
	defer func() { _ = client.Close(e.ctx) }()
	raw, err := client.Call(e.ctx, "tools/list", struct{}{})
	var list struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		e.find(Problem, "endpoint", fmt.Sprintf("%s does not answer as an MCP endpoint: %v", e.status.Service.MCP, err),
			"if it wants a token, set TRAPOS_MCP_TOKEN here as it is set for the service; else restart the service")
		return
	}
	e.find(OK, "endpoint", e.status.Service.MCP+" answers and offers "+daemon.Counted(len(list.Tools), "tool"), "")
}

// computers says what stands between the gateway and the game.
func (e *examination) computers() {
	if e.status == nil || e.status.Service.Gateway == "" {
		return
	}
	silent := 0
	for _, c := range e.status.Computers {
		if c.State != "ready" {
			silent++
		}
	}
	if silent > 0 {
		e.find(Warning, "computers", fmt.Sprintf("%d of %d computers do not answer", silent, len(e.status.Computers)),
			"a paused single-player world is silent; else look at the computer's screen, where its program says what is wrong")
	}
	if len(e.status.Computers) > 0 {
		e.find(OK, "computers", daemon.Counted(len(e.status.Computers), "computer")+" connected", "")
		return
	}
	address, err := url.Parse(e.status.Service.Gateway)
	if err != nil {
		return
	}
	e.find(Hint, "computers", "no computer is connected to "+e.status.Service.Gateway,
		"on one, run `wget run http://"+address.Host+"/install.lua`; if it says \"Domain not permitted\", put a rule that allows "+address.Hostname()+
			" before the one that denies $private in the world's serverconfig/computercraft-server.toml and restart the world")
	if ip := net.ParseIP(address.Hostname()); ip != nil && ip.IsLoopback() {
		e.find(Hint, "computers", "the gateway listens on loopback: a world on another machine cannot reach it", "for such a world set TRAPOS_GATEWAY_ADDR to an address that it can reach")
	}
}
