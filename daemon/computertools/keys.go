package computertools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxTyped bounds the characters and keys of one call, as the computer does.
const maxTyped = 4096

type keysInput struct {
	target
	Text string   `json:"text,omitempty" jsonschema:"what to type; a line break is the enter key. ISO 8859-1 only, as the game's keyboard. Typed before keys"`
	Keys []string `json:"keys,omitempty" jsonschema:"keys to press one after another, by their names in the keys API (enter, backspace, up, pageDown, f1, a, one, …), joined by + if held together (leftCtrl+a); terminate does what holding Ctrl+T does"`
}

type keysOutput struct {
	OK    bool     `json:"ok" jsonschema:"whether everything was typed"`
	Typed int      `json:"typed,omitempty" jsonschema:"how many characters and keys"`
	Error *Failure `json:"error,omitempty" jsonschema:"why not; absent if ok"`
}

func (s *Server) sendKeys() tool {
	return define(sdk.Tool{
		Name:  "send-keys",
		Title: "Type on a computer",
		Description: "Types text and presses keys on a connected ComputerCraft computer, as somebody in front of it would: the program that " +
			"is running there gets them. Returns when they were taken; use read-screen to see what came of it.",
		Annotations: acts(),
	}, s.typeKeys,
		func(f Failure) keysOutput { return keysOutput{Error: &f} },
		func(out keysOutput) string {
			if out.Error != nil {
				return failed(out.Error)
			}
			return fmt.Sprintf("%d characters and keys typed", out.Typed)
		})
}

func (s *Server) typeKeys(ctx context.Context, in keysInput) (keysOutput, error) {
	typed := bytes64{}
	for _, r := range strings.ReplaceAll(in.Text, "\r\n", "\n") {
		if r > 0xff || r < ' ' && r != '\n' && r != '\t' {
			return keysOutput{}, badRequest("the game's keyboard has no %q", r)
		}
		typed = append(typed, byte(r))
	}
	switch n := len(typed) + len(in.Keys); {
	case n == 0:
		return keysOutput{}, badRequest("give text, keys or both")
	case n > maxTyped:
		return keysOutput{}, badRequest("%d characters and keys; %d at most at once", n, maxTyped)
	}
	payload := map[string]any{"textBase64": typed}
	if len(in.Keys) > 0 {
		payload["keys"] = in.Keys
	}
	var reply struct {
		outcome
		Typed int `json:"typed"`
	}
	d := deed{tool: "send-keys", size: len(typed) + len(in.Keys), shown: strings.TrimPrefix(in.Text+"\n"+strings.Join(in.Keys, " "), "\n")}
	if _, err := s.carryOut(ctx, in.target, d, payload, &reply); err != nil {
		return keysOutput{}, err
	}
	return keysOutput{OK: reply.OK, Typed: reply.Typed, Error: reply.failure()}, nil
}

type eventInput struct {
	target
	Event     string `json:"event" jsonschema:"the event's name: redstone, timer, mouse_click, or one of your own; those that begin with trapos_ are not allowed"`
	Arguments []any  `json:"arguments,omitempty" jsonschema:"the event's arguments, at most 32: strings, numbers, booleans, lists and objects"`
}

type eventOutput struct {
	OK    bool     `json:"ok" jsonschema:"whether the event was queued and taken"`
	Error *Failure `json:"error,omitempty" jsonschema:"why not; absent if ok"`
}

func (s *Server) sendEvent() tool {
	return define(sdk.Tool{
		Name:        "send-event",
		Title:       "Queue an event on a computer",
		Description: "Queues an event on a connected ComputerCraft computer, as os.queueEvent does there; all programs that wait for events get it.",
		Annotations: acts(),
	}, s.queueEvent,
		func(f Failure) eventOutput { return eventOutput{Error: &f} },
		func(out eventOutput) string {
			if out.Error != nil {
				return failed(out.Error)
			}
			return "the event was queued"
		})
}

func (s *Server) queueEvent(ctx context.Context, in eventInput) (eventOutput, error) {
	payload := map[string]any{"event": in.Event}
	for i, argument := range in.Arguments {
		if argument == nil {
			return eventOutput{}, badRequest("argument %d is null, which a Lua list cannot hold", i+1)
		}
	}
	if len(in.Arguments) > 0 {
		payload["arguments"] = in.Arguments
	}
	var reply outcome
	arguments, err := json.Marshal(in.Arguments)
	if err != nil {
		return eventOutput{}, err
	}
	d := deed{tool: "send-event", content: []byte(in.Event), size: len(in.Event), shown: in.Event + " " + string(arguments)}
	if _, err := s.carryOut(ctx, in.target, d, payload, &reply); err != nil {
		return eventOutput{}, err
	}
	return eventOutput{OK: reply.OK, Error: reply.failure()}, nil
}
