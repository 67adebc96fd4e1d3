package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/traposd/traposd/mcp"
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
