package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/traposd/traposd/daemon/rpc"
	"github.com/traposd/traposd/mcp/wire"
	"github.com/traposd/traposd/mcpconfig"
)

// RPCClient is a small MCP client of our own listener, for the command line. It sends plain JSON-RPC requests; after
// Initialize they belong to a session. Its methods may be called from many goroutines at once.
type RPCClient struct {
	url     string
	token   mcpconfig.Secret
	http    *http.Client
	lastID  atomic.Int64
	session atomic.Pointer[string]
}

// NewRPCClient returns a client for the listener at url; an empty token sends none.
func NewRPCClient(url string, token mcpconfig.Secret) *RPCClient {
	return &RPCClient{url: url, token: token, http: &http.Client{Transport: &http.Transport{}}}
}

// protocolRevision is the revision whose sessions have a GET stream that the demo can show list_changed on.
const protocolRevision = "2025-11-25"

// Initialize opens a session.
func (c *RPCClient) Initialize(ctx context.Context, name, version string) error {
	params := map[string]any{
		"protocolVersion": protocolRevision, "capabilities": struct{}{},
		"clientInfo": map[string]string{"name": name, "version": version},
	}
	if _, err := c.Call(ctx, "initialize", params); err != nil {
		return err
	}
	resp, err := c.post(ctx, &wire.Message{Method: "notifications/initialized"})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// Call sends one request and returns its result. A JSON-RPC error is a *wire.Error.
func (c *RPCClient) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	id := json.RawMessage(strconv.FormatInt(c.lastID.Add(1), 10))
	resp, err := c.post(ctx, &wire.Message{ID: id, Method: method, Params: raw})
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if session := resp.Header.Get("Mcp-Session-Id"); session != "" {
		c.session.Store(&session)
	}
	var answer *wire.Message
	err = rpc.Messages(resp, func(m *wire.Message) bool {
		// What is refused before its id is read is answered with no id.
		if m.IsResponse() && (m.ID == nil || bytes.Equal(m.ID, id)) {
			answer = m
		}
		return answer == nil
	})
	return result(answer, err)
}

func result(answer *wire.Message, err error) (json.RawMessage, error) {
	switch {
	case err != nil:
		return nil, err
	case answer == nil:
		return nil, errors.New("the stream ended before the answer")
	case answer.Error != nil:
		return nil, answer.Error
	}
	return answer.Result, nil
}

// Listen opens the session's stream and passes its notifications to each until each returns false or ctx ends. opened is
// called once the stream is open.
func (c *RPCClient) Listen(ctx context.Context, opened func(), each func(m *wire.Message) bool) error {
	req, err := c.request(ctx, http.MethodGet, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the listener answered %s", resp.Status)
	}
	opened()
	return rpc.Messages(resp, each)
}

// Close ends the session, if there is one, and the idle connections.
func (c *RPCClient) Close(ctx context.Context) error {
	defer c.http.CloseIdleConnections()
	if c.session.Load() == nil {
		return nil
	}
	req, err := c.request(ctx, http.MethodDelete, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (c *RPCClient) post(ctx context.Context, m *wire.Message) (*http.Response, error) {
	req, err := c.request(ctx, http.MethodPost, bytes.NewReader(m.Append(nil)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	return c.http.Do(req)
}

func (c *RPCClient) request(ctx context.Context, method string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url, body)
	if err != nil {
		return nil, err
	}
	if token := c.token.Reveal(); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if session := c.session.Load(); session != nil {
		req.Header.Set("Mcp-Session-Id", *session)
		req.Header.Set("Mcp-Protocol-Version", protocolRevision)
	}
	return req, nil
}
