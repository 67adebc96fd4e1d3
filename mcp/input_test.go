package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
)

func TestInputRequired(t *testing.T) {
	const question = `{"method":"elicitation/create","params":{}}`
	for _, test := range []struct {
		result string
		want   bool
	}{
		{`{"resultType":"input_required","inputRequests":{"a":` + question + `}}`, true},
		{`{"resultType":"input_required","requestState":"s"}`, true},
		{`{"content":[],"inputRequests":{"a":` + question + `,"b":{"method":"roots/list"}}}`, true},
		{`{"resultType":"complete","inputRequests":{"a":` + question + `}}`, false},
		{`{"resultType":"task","inputRequests":{"a":` + question + `}}`, false},
		{`{"content":[{"type":"text","text":"\"inputRequests\""}]}`, false},
		{`{"structuredContent":{"inputRequests":{"a":` + question + `}}}`, false},
		{`{"inputRequests":{}}`, false},
		{`{"inputRequests":[` + question + `]}`, false},
		{`{"inputRequests":{"a":` + question + `,"b":{"method":"tools/call"}}}`, false},
		{`{"inputRequests":{"a":1}}`, false},
		{`{}`, false},
	} {
		equal(t, test.result, mcp.InputRequired(json.RawMessage(test.result)), test.want)
	}
}

// answers is a server whose result is always the same.
func answers(result string) mcp.Server {
	return serverFunc(func(context.Context, mcp.Request) (json.RawMessage, error) { return json.RawMessage(result), nil })
}

// TestQuestionsInAResult is about servers that ask with their result, as seen by clients of every kind.
func TestQuestionsInAResult(t *testing.T) {
	const (
		elicit   = `"inputRequests":{"k":{"method":"elicitation/create","params":{"n":1.0}}},"requestState":"theirs"`
		sample   = `"inputRequests":{"k":{"method":"sampling/createMessage"}}`
		required = `"resultType":"input_required"`
	)
	b := newBed(t, mcp.Options{},
		mcp.Entry{ID: "1", Name: "leaks", Tools: tools("t"), Server: answers(`{"content":[],` + elicit + `}`)},
		mcp.Entry{ID: "2", Name: "says", Tools: tools("t"), Server: answers(`{` + elicit + `,` + required + `}`)},
		mcp.Entry{ID: "3", Name: "samples", Tools: tools("t"), Server: answers(`{"content":[],` + sample + `}`)})
	for _, test := range []struct{ tool, want string }{
		{"leaks__t", `"result":{"content":[],` + elicit + `,` + required + `}`},
		{"says__t", `"result":{` + elicit + `,` + required + `}`},
		{"samples__t", `"data":{"requiredCapabilities":{"sampling":{}}}`},
	} {
		body, headers := asker("", test.tool)
		if a := b.post(t, body, headers...); !strings.Contains(a.body, test.want) {
			t.Errorf("%s: a 2026-07-28 client gets %s", test.tool, a.body)
		}
		// A session client would take any of them for an empty answer.
		a := b.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+test.tool+`"}}`)
		if !strings.Contains(a.body, `"error":{"code":-31015`) {
			t.Errorf("%s: a session client gets %s", test.tool, a.body)
		}
	}
}

// TestInputInRounds has a server that asks twice with its result, in the way of either era, and clients of both.
func TestInputInRounds(t *testing.T) {
	twice := func(said string) mcp.Server {
		return serverFunc(func(_ context.Context, req mcp.Request) (json.RawMessage, error) {
			raw, _ := wire.Get(req.Params, "requestState")
			state, _ := wire.String(raw)
			if state == "2" {
				answers, _ := wire.Get(req.Params, "inputResponses")
				return json.RawMessage(`{"content":[],"structuredContent":` + string(answers) + `}`), nil
			}
			state += "1"
			if state == "11" {
				state = "2"
			}
			return json.RawMessage(`{` + said + `"inputRequests":{"k` + state + `":{"method":"elicitation/create","params":{"message":"m` + state +
				`","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}}},"requestState":"` + state + `"}`), nil
		})
	}
	for _, revision := range eras {
		for name, said := range map[string]string{"said": `"resultType":"input_required",`, "leaked": `"content":[],`} {
			t.Run(revision+"/"+name, func(t *testing.T) {
				b := newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Server: twice(said), Tools: tools("t")})
				session := connect(t, b, revision, &sdk.ClientOptions{
					ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
						return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"a": r.Params.Message}}, nil
					},
				})
				result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "s__t"})
				if err != nil {
					t.Fatal(err)
				}
				got, _ := json.Marshal(result.StructuredContent)
				equal(t, "the last answers", string(got), `{"k2":{"action":"accept","content":{"a":"m2"}}}`)
			})
		}
	}
}

func TestAServerThatAsksForEverIsEnded(t *testing.T) {
	calls := 0 // the calls follow one another
	b := newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Tools: tools("t"), Server: serverFunc(
		func(context.Context, mcp.Request) (json.RawMessage, error) {
			calls++
			return json.RawMessage(`{"resultType":"input_required","requestState":"s"}`), nil
		})})
	a := b.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__t"}}`)
	equal(t, "answer", a.body, `{"jsonrpc":"2.0","id":1,"error":{"code":-31011,"message":"server \"s\" asked for input 10 times for one tools/call"}}`)
	equal(t, "calls", calls, 11)
}
