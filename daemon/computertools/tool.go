package computertools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/traposd/traposd/gateway"
	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
)

// tool is one definition and what answers a call of it.
type tool struct {
	definition *sdk.Tool
	raw        json.RawMessage
	run        func(ctx context.Context, arguments json.RawMessage) (*sdk.CallToolResult, error)
}

// Failure says why a call did not do what was asked. Kind is one word to act on: `syntax`, `runtime`, `timeout`, … from the
// computer, a code of the gateway protocol, or `denied`, `declined` or `cannot_ask` from the policy.
type Failure struct {
	Kind      string `json:"kind" jsonschema:"what kind of failure: denied, declined or cannot_ask from the policy of the service; syntax, runtime, timeout, terminated, cancelled or exit from the Lua code; exists, not_found, mismatch, no_space, read_only, is_directory, bad_path or io from the disk; unavailable, unknown_key, bad_event or too_many from the console; unknown_computer, unknown_type, disconnected, timeout, busy, too_large or bad_request from the way there"`
	Message   string `json:"message" jsonschema:"what happened, in a sentence"`
	Line      int    `json:"line,omitempty" jsonschema:"the line of the Lua source, if known"`
	Traceback string `json:"traceback,omitempty" jsonschema:"the Lua stack at the failure"`
}

// define makes a tool of a typed handler: the schemas come from In and Out, arguments are checked against In's before the
// handler sees them, and text is what a model reads of an answer. An Out with a method png() []byte has a picture too; one
// with unreached() bool stands for several computers, and says whether the round trip to all of them failed.
//
// A handler's error is a call that did not make the round trip. refused makes the answer for it, which keeps to Out's
// schema, as clients may check.
func define[In, Out any](
	definition sdk.Tool,
	handle func(ctx context.Context, in In) (Out, error),
	refused func(Failure) Out,
	text func(Out) string,
) tool {
	input, output := schemaOf[In](), schemaOf[Out]()
	definition.InputSchema, definition.OutputSchema = input, output
	resolved, err := input.Resolve(nil)
	must(err)
	raw, err := json.Marshal(&definition)
	must(err)
	answer := func(out Out, isError bool) (*sdk.CallToolResult, error) {
		structured, err := json.Marshal(out)
		if err != nil {
			return nil, wire.Errorf(wire.CodeInternalError, "%s: %v", definition.Name, err)
		}
		content := []sdk.Content{&sdk.TextContent{Text: text(out)}}
		if pictured, ok := any(out).(interface{ png() []byte }); ok && pictured.png() != nil {
			content = append(content, &sdk.ImageContent{Data: pictured.png(), MIMEType: "image/png"})
		}
		return &sdk.CallToolResult{Content: content, StructuredContent: json.RawMessage(structured), IsError: isError}, nil
	}
	run := func(ctx context.Context, arguments json.RawMessage) (*sdk.CallToolResult, error) {
		in, err := decode[In](resolved, arguments)
		if err != nil {
			return answer(refused(Failure{Kind: string(gateway.CodeBadRequest), Message: err.Error()}), true)
		}
		out, err := handle(ctx, in)
		if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
			return nil, wire.Errorf(mcp.CodeCancelled, "%s was cancelled", definition.Name)
		}
		if err != nil {
			return answer(refused(failureOf(err)), true)
		}
		several, ok := any(out).(interface{ unreached() bool })
		return answer(out, ok && several.unreached())
	}
	return tool{definition: &definition, raw: raw, run: run}
}

// failureOf keeps the code that the gateway gave.
func failureOf(err error) Failure {
	var coded *gateway.Error
	if errors.As(err, &coded) {
		return Failure{Kind: string(coded.Code), Message: coded.Message}
	}
	var refused *refusal
	if errors.As(err, &refused) {
		return Failure{Kind: refused.kind, Message: refused.message}
	}
	return Failure{Kind: string(gateway.CodeInternal), Message: err.Error()}
}

func decode[In any](schema *jsonschema.Resolved, arguments json.RawMessage) (in In, err error) {
	// A computer's number alone is written as a number by every second model, whatever the schema says.
	if computer, _ := wire.Get(arguments, "computer"); wire.Kind(computer) == '0' {
		arguments = wire.Set(arguments, "computer", wire.Quote(string(computer)))
	}
	var instance map[string]any
	if err := json.Unmarshal(arguments, &instance); err != nil {
		return in, errors.New("the arguments must be an object")
	}
	if err := schema.Validate(instance); err != nil {
		return in, fmt.Errorf("the arguments do not fit the tool's input schema: %w", err)
	}
	return in, json.Unmarshal(arguments, &in)
}

func schemaOf[T any]() *jsonschema.Schema {
	schema, err := jsonschema.For[T](nil)
	must(err)
	return schema
}

// must is for what cannot fail with the types of this package, and would in every test if it did.
func must(err error) {
	if err != nil {
		panic("computertools: " + err.Error())
	}
}
