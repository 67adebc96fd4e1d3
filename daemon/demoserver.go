package daemon

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The MCP servers that the demo's configuration file names.
const (
	demoDice  = "dice"
	demoWords = "words"
)

type rollInput struct {
	Sides int `json:"sides" jsonschema:"how many sides the die has, at least 2"`
}

type rollOutput struct {
	Rolled int `json:"rolled" jsonschema:"what came up"`
}

type wordsInput struct {
	Text string `json:"text" jsonschema:"the text whose words are counted"`
}

type wordsOutput struct {
	Words int `json:"words" jsonschema:"how many words the text has"`
}

// RunDemoServer is a small MCP server over stdin and stdout, built on the official SDK: `dice` rolls, `words` counts.
func RunDemoServer(ctx context.Context, name, version string) error {
	server := sdk.NewServer(&sdk.Implementation{Name: "traposd-demo-" + name, Version: version}, nil)
	switch name {
	case demoDice:
		sdk.AddTool(server, &sdk.Tool{Name: "roll", Description: "Rolls a die."},
			func(_ context.Context, _ *sdk.CallToolRequest, in rollInput) (*sdk.CallToolResult, rollOutput, error) {
				if in.Sides < 2 {
					return nil, rollOutput{}, fmt.Errorf("a die has at least 2 sides, not %d", in.Sides)
				}
				return nil, rollOutput{Rolled: 1 + rand.IntN(in.Sides)}, nil
			})
	case demoWords:
		sdk.AddTool(server, &sdk.Tool{Name: "count", Description: "Counts the words of a text."},
			func(_ context.Context, _ *sdk.CallToolRequest, in wordsInput) (*sdk.CallToolResult, wordsOutput, error) {
				return nil, wordsOutput{Words: len(strings.Fields(in.Text))}, nil
			})
	default:
		return failf(ErrSettings, "the demo servers are %s and %s", demoDice, demoWords)
	}
	return server.Run(ctx, &sdk.StdioTransport{})
}
