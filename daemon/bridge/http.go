package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/traposd/traposd/daemon/rpc"
	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/mirror"
	"github.com/traposd/traposd/mcp/wire"
)

// metaRevision is where a client of the stateless revision says which one it speaks (2026-07-28, basic, "_meta").
const metaRevision = "io.modelcontextprotocol/protocolVersion"

// roundTrip sends a request and writes all that its answer brings. It fails with errNotBegun if the service is not there or
// does not know the session, and with a *mismatchError if it misses headers that repeat arguments.
func (b *bridge) roundTrip(ctx context.Context, m *wire.Message, session sessionState) error {
	resp, err := b.post(ctx, m, session)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) && op.Op == "dial" {
			return notBegun(err)
		}
		return wire.Errorf(mcp.CodeServerDown, "the service was lost while it worked on this; whether it was done is not known: %v", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusNotFound && session.id != "" {
		return notBegun(fmt.Errorf("the session is gone: %s", resp.Status))
	}
	answered := false
	var mismatch *wire.Message
	err = rpc.Messages(resp, func(answer *wire.Message) bool {
		answered = answered || answer.IsResponse() && bytes.Equal(answer.ID, m.ID)
		if session.id == "" && answer.Error != nil && answer.Error.Code == mcp.CodeHeaderMismatch && m.Method == "tools/call" {
			mismatch = answer
			return false
		}
		if session.id == "" && m.Method == "tools/list" && answer.IsResponse() {
			b.learn(answer.Result)
		}
		b.write(answer)
		return true
	})
	switch {
	case mismatch != nil:
		return &mismatchError{mismatch}
	case answered:
		return nil
	case err != nil:
		return wire.Errorf(mcp.CodeServerDown, "the service was lost while it worked on this; whether it was done is not known: %v", err)
	}
	return wire.Errorf(mcp.CodeServerDown, "the service gave no answer (%s)", resp.Status)
}

func (b *bridge) post(ctx context.Context, m *wire.Message, session sessionState) (*http.Response, error) {
	req, err := b.request(ctx, http.MethodPost, bytes.NewReader(m.Append(nil)), session)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if meta, ok := wire.Get(m.Params, "_meta"); ok && session.id == "" {
		raw, _ := wire.Get(meta, metaRevision)
		if revision, ok := wire.String(raw); ok {
			req.Header.Set("Mcp-Protocol-Version", revision)
			mirror.Set(req.Header, m, b.marked)
		}
	}
	return b.http.Do(req)
}

func (b *bridge) request(ctx context.Context, method string, body io.Reader, session sessionState) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, session.url, body)
	if err != nil {
		return nil, err
	}
	if b.options.Token != nil {
		if token := b.options.Token(); token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
	}
	if session.id != "" {
		req.Header.Set("Mcp-Session-Id", session.id)
		if session.revision != "" {
			req.Header.Set("Mcp-Protocol-Version", session.revision)
		}
	}
	return req, nil
}
