package bridge

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/traposd/traposd/daemon/rpc"
	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
)

// metaRevision is where a client of the stateless revision says which one it speaks (2026-07-28, basic, "_meta").
const metaRevision = "io.modelcontextprotocol/protocolVersion"

// roundTrip sends a request and writes all that its answer brings. It fails with errNotBegun if the service is not there or
// does not know the session.
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
	err = rpc.Messages(resp, func(answer *wire.Message) bool {
		answered = answered || answer.IsResponse() && bytes.Equal(answer.ID, m.ID)
		b.write(answer)
		return true
	})
	switch {
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
			stateless(req.Header, m, revision)
		}
	}
	return b.http.Do(req)
}

// stateless repeats in the headers what the stateless revision wants there (2026-07-28, transports, "Standard Headers").
func stateless(header http.Header, m *wire.Message, revision string) {
	header.Set("Mcp-Protocol-Version", revision)
	header.Set("Mcp-Method", m.Method)
	key := map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}[m.Method]
	raw, _ := wire.Get(m.Params, key)
	if name, ok := wire.String(raw); ok {
		header.Set("Mcp-Name", headerText(name))
	}
}

// headerText encodes what a header cannot hold as it is (2026-07-28, transports, "Value Encoding").
func headerText(text string) string {
	plain := strings.TrimSpace(text) == text && !strings.HasPrefix(text, "=?base64?")
	for _, r := range text {
		plain = plain && r >= ' ' && r <= '~'
	}
	if plain {
		return text
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
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
