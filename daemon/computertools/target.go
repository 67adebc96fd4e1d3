package computertools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/traposd/traposd/gateway"
)

// answerTimeout bounds the wait for a computer that only has to do something with its disk, screen or keyboard.
const answerTimeout = 30 * time.Second

// target names the computer that a call is for.
type target struct {
	Computer string `json:"computer" jsonschema:"the computer's traposId (<id>:<label>) as probe-computers lists it, or its number alone if only one computer has it"`
	Network  string `json:"network,omitempty" jsonschema:"the computer's network, needed only if two networks have a computer of that traposId"`
}

// outcome is the part that all answers of a computer have (gateway protocol, version 1).
type outcome struct {
	OK    bool    `json:"ok"`
	Kind  string  `json:"kind"`
	Error bytes64 `json:"errorBase64"`
}

// failure is nil for what went well.
func (o *outcome) failure() *Failure {
	if o.OK {
		return nil
	}
	return &Failure{Kind: firstWord(o.Kind, "io"), Message: o.Error.text()}
}

// ask makes the round trip of a request that a computer answers at once, and decodes the answer. A tool and the request
// that it makes have one name.
func (s *Server) ask(ctx context.Context, to target, tool string, payload map[string]any, reply any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	raw, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	return s.request(ctx, to, tool, raw, reply)
}

// request makes the round trip and decodes the answer.
func (s *Server) request(ctx context.Context, to target, kind string, payload json.RawMessage, reply any) error {
	raw, err := s.registry.Request(ctx, to.Network, to.Computer, kind, payload)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, reply); err != nil {
		return &gateway.Error{Code: gateway.CodeInternal, Message: fmt.Sprintf(
			"computer %s answered %s with something else than its protocol says; install its programs anew", to.Computer, kind)}
	}
	return nil
}

// putPath puts a path into a payload: as bytes unless it is printable ASCII, which is all that JSON in Lua keeps.
func putPath(payload map[string]any, name, path string) {
	if strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r > '~' }) {
		payload[name+"Base64"] = bytes64(path)
	} else {
		payload[name] = path
	}
}

// either is a path of an answer, which is base64 unless it is printable ASCII.
func either(plain string, coded bytes64) string {
	if coded != nil {
		return coded.text()
	}
	return plain
}

// reads are the hints of a tool that changes nothing.
func reads() *sdk.ToolAnnotations {
	return &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: new(bool), OpenWorldHint: new(bool)}
}

// changes are the hints of a tool that may destroy something on a computer; idempotent: a second same call adds nothing.
func changes(idempotent bool) *sdk.ToolAnnotations {
	return &sdk.ToolAnnotations{DestructiveHint: yes(), IdempotentHint: idempotent, OpenWorldHint: new(bool)}
}

// acts are the hints of a tool that can do whatever the computer can: HTTP and the world around it included.
func acts() *sdk.ToolAnnotations {
	return &sdk.ToolAnnotations{DestructiveHint: yes(), OpenWorldHint: yes()}
}

func yes() *bool { v := true; return &v }

// failed is what a model reads of a failure.
func failed(f *Failure) string { return fmt.Sprintf("[%s] %s", f.Kind, f.Message) }
