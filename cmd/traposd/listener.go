package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"

	"github.com/traposd/traposd/daemon"
)

// maxPages bounds how many pages of a list are asked for.
const maxPages = 1000

// listener is a client of the running service's listener: of all that it offers, or of one server under its tools' own
// names. Whoever opens one closes it.
func listener(ctx context.Context, server string) (*daemon.RPCClient, error) {
	c, err := control()
	if err != nil {
		return nil, err
	}
	service, err := c.Service(ctx)
	if err != nil {
		return nil, err
	}
	token, err := daemon.ListenerToken(os.Getenv)
	if err != nil {
		return nil, err
	}
	address := service.MCP
	if server != "" {
		report, err := c.Servers(ctx)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(report.Servers, func(s daemon.ServerReport) bool { return s.Name == server }) {
			return nil, fmt.Errorf("no server named %s is configured; see `traposd servers`", server)
		}
		address += "/s/" + url.PathEscape(server)
	}
	return daemon.NewRPCClient(address, token), nil
}

// callTool calls a tool through the listener, like any client, and returns the raw result.
func callTool(ctx context.Context, server, tool string, arguments any) (json.RawMessage, error) {
	client, err := listener(ctx, server)
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close(ctx) }()
	raw, err := client.Call(ctx, "tools/call", map[string]any{"name": tool, "arguments": arguments})
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return nil, errors.New("interrupted: the call is cancelled")
	}
	return raw, err
}

// listTools returns the definitions of all tools, raw, in the listener's order.
func listTools(ctx context.Context, server string) ([]json.RawMessage, error) {
	client, err := listener(ctx, server)
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close(ctx) }()
	tools := []json.RawMessage{}
	params := map[string]string{}
	for range maxPages {
		raw, err := client.Call(ctx, "tools/list", params)
		if err != nil {
			return nil, err
		}
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, err
		}
		tools = append(tools, page.Tools...)
		if page.NextCursor == "" {
			break
		}
		params["cursor"] = page.NextCursor
	}
	return tools, nil
}
