package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
)

// ToolResult is what a person wants to see of a tools/call result.
type ToolResult struct {
	Text       string // the text blocks, joined by line breaks
	Structured json.RawMessage
	IsError    bool
}

// Failed reports whether the call failed, on the way or by what it did: a tool that made the round trip says so with
// "ok": false in its structured content.
func (r ToolResult) Failed() bool {
	var outcome struct {
		OK *bool `json:"ok"`
	}
	_ = json.Unmarshal(r.Structured, &outcome) // content without an object has no outcome
	return r.IsError || outcome.OK != nil && !*outcome.OK
}

// ParseToolResult reads a raw CallToolResult.
func ParseToolResult(raw json.RawMessage) (ToolResult, error) {
	var parsed struct {
		Content           []json.RawMessage `json:"content"`
		StructuredContent json.RawMessage   `json:"structuredContent"`
		IsError           bool              `json:"isError"`
	}
	if err := json.Unmarshal(raw, &parsed); err != nil {
		return ToolResult{}, errors.New("the server's result is not as a tool's has to be")
	}
	var text bytes.Buffer
	for i, raw := range parsed.Content {
		var block struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if json.Unmarshal(raw, &block) != nil || block.Type != "text" {
			continue // an image, for instance, is not for a terminal, and neither is what is no block at all
		}
		if i > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(block.Text)
	}
	return ToolResult{Text: text.String(), Structured: parsed.StructuredContent, IsError: parsed.IsError}, nil
}
