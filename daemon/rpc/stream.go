// Package rpc reads what an MCP endpoint answers over Streamable HTTP, for our own small clients of our own listener. Its
// functions keep no state and may be called from many goroutines at once.
package rpc

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/traposd/traposd/mcp/wire"
)

// MaxBytes bounds one message.
const MaxBytes = 64 << 20

// Messages passes on what a response holds, one message or a stream of them, until each returns false.
func Messages(resp *http.Response, each func(*wire.Message) bool) error {
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return events(resp.Body, each)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxBytes+1))
	if err != nil {
		return err
	}
	if len(body) > MaxBytes {
		return fmt.Errorf("the answer is larger than %d MiB", MaxBytes>>20)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	m, err := wire.Parse(body)
	if err != nil {
		return fmt.Errorf("the service answered %s: %.200q", resp.Status, body)
	}
	each(m)
	return nil
}

// events reads server-sent events (HTML, section 9.2) whose data are JSON-RPC messages.
func events(stream io.Reader, each func(*wire.Message) bool) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, MaxBytes)
	var data []byte
	for lines.Scan() {
		line := lines.Bytes()
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
			continue
		}
		if len(line) > 0 || len(data) == 0 {
			continue
		}
		m, err := wire.Parse(data)
		if err != nil {
			return fmt.Errorf("the service's stream: %w", err)
		}
		data = nil // the message keeps its memory
		if !each(m) {
			return nil
		}
	}
	return lines.Err()
}
