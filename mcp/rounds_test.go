package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
)

// asking is a server that asks two things at a time, then one more, and gives the answers as its result.
var asking = serverFunc(func(ctx context.Context, req mcp.Request) (json.RawMessage, error) {
	type answer struct {
		raw json.RawMessage
		err error
	}
	first := make(chan answer, 1)
	go func() {
		raw, err := req.Client.Request(ctx, "elicitation/create", json.RawMessage(`{"n":1.0}`))
		first <- answer{raw, err}
	}()
	second, err := req.Client.Request(ctx, "roots/list", nil)
	one := <-first
	if err != nil || one.err != nil {
		return nil, err
	}
	if req.Progress != nil {
		req.Progress(json.RawMessage(`{"progress":0.5}`))
	}
	third, err := req.Client.Request(ctx, "elicitation/create", json.RawMessage(`{"n":3}`))
	if err != nil {
		return nil, err
	}
	return json.RawMessage(`{"all":[` + string(one.raw) + `,` + string(second) + `,` + string(third) + `]}`), nil
})

func asker(revisionParams, name string) (body string, headers []string) {
	body, headers = modern("1", "tools/call", `"name":"`+name+`",`+revisionParams, "Mcp-Name", name)
	return strings.Replace(body, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{},"roots":{}}`, 1), headers
}

// required takes an `input_required` result apart: the keys by what is asked, and the state.
func required(t *testing.T, body string) (keys map[string]string, state string) {
	t.Helper()
	result, _ := wire.Get([]byte(body), "result")
	if kind, _ := wire.Get(result, "resultType"); string(kind) != `"input_required"` {
		t.Fatalf("not asked for input: %s", body)
	}
	keys = map[string]string{}
	requests, _ := wire.Get(result, "inputRequests")
	for key, request := range wire.Members(requests) {
		keys[string(request)] = key
	}
	raw, _ := wire.Get(result, "requestState")
	state, _ = wire.String(raw)
	return keys, state
}

func TestRounds(t *testing.T) {
	b := newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Server: asking, Tools: tools("t", "u")})
	post := func(params string) answer {
		body, headers := asker(params, "s__t")
		return b.post(t, body, headers...)
	}
	const one, two, three = `{"method":"elicitation/create","params":{"n":1.0}}`, `{"method":"roots/list"}`, `{"method":"elicitation/create","params":{"n":3}}`
	keys, state := required(t, post("").body)
	for len(keys) < 2 { // the second question came after the first round had been sent
		keys, state = required(t, post(`"requestState":"`+state+`","inputResponses":{},`).body)
	}
	equal(t, "questions", keys[one] != "" && keys[two] != "", true)

	// A part of the answers: the rest is asked again.
	keys, next := required(t, post(`"requestState":"`+state+`","inputResponses":{"`+keys[two]+`":{"roots":[]},"odd":1},`).body)
	equal(t, "asked again", len(keys), 1)
	equal(t, "asked again", keys[one] != "", true)
	equal(t, "another state", next != state, true)

	a := post(`"requestState":"` + state + `","inputResponses":{},`)
	equal(t, "a used state", a.status, http.StatusBadRequest)
	body, headers := asker(`"requestState":"`+next+`","inputResponses":{},`, "s__u")
	equal(t, "the state on another tool", b.post(t, body, headers...).status, http.StatusBadRequest)
	a = post(`"requestState":"` + next[:len(next)-1] + `","inputResponses":{},`)
	equal(t, "a made-up state", a.status, http.StatusBadRequest)

	keys, state = required(t, post(`"requestState":"`+next+`","inputResponses":{"`+keys[one]+`":{"action":"accept","n":9007199254740993}},`).body)
	equal(t, "the third", keys[three] != "", true)
	a = post(`"requestState":"` + state + `","inputResponses":{"` + keys[three] + `":{"action":"cancel"}},`)
	equal(t, "result", a.body, `{"jsonrpc":"2.0","id":1,"result":{"all":[{"action":"accept","n":9007199254740993},{"roots":[]},{"action":"cancel"}],"resultType":"complete"}}`)
}

func TestAMissingCapabilityIsNamed(t *testing.T) {
	b := newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Tools: tools("t"), Server: serverFunc(
		func(ctx context.Context, req mcp.Request) (json.RawMessage, error) {
			return req.Client.Request(ctx, "sampling/createMessage", nil)
		})})
	body, headers := asker("", "s__t")
	a := b.post(t, body, headers...)
	equal(t, "status", a.status, http.StatusBadRequest)
	equal(t, "answer", a.body, `{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":`+
		`"the client does not take sampling/createMessage: it has not declared sampling","data":{"requiredCapabilities":{"sampling":{}}}}}`)
}

func TestAStateOfTheServersOwnPasses(t *testing.T) {
	b := newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Server: echo, Tools: tools("t")})
	body, headers := asker(`"requestState":"theirs","inputResponses":{"a":1.0},`, "s__t")
	a := b.post(t, body, headers...)
	if !strings.Contains(a.body, `"params":{"name":"t","requestState":"theirs","inputResponses":{"a":1.0},"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"roots":{}}}}`) {
		t.Errorf("the server got %s", a.body)
	}
}

func TestCallsThatNobodyComesBackToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		catalogue := mcp.NewCatalogue()
		catalogue.Set([]mcp.Entry{{ID: "s", Name: "s", Tools: tools("t"), Server: serverFunc(
			func(ctx context.Context, req mcp.Request) (json.RawMessage, error) {
				_, err := req.Client.Request(ctx, "roots/list", nil)
				ended <- err
				return nil, err
			})}})
		l := mcp.NewListener(mcp.Options{Catalogue: catalogue})
		body, headers := asker("", "s__t")
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		l.ServeHTTP(w, r)
		required(t, w.Body.String())
		began := time.Now()
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "did not come back") {
			t.Errorf("the call ended with %v", err)
		}
		equal(t, "after", time.Since(began), 10*time.Minute)
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestHeadersThatRepeatArguments(t *testing.T) {
	b := newBed(t, mcp.Options{}, mcp.Entry{ID: "s", Name: "s", Server: echo, Tools: []mcp.Definition{{Name: "t", Raw: json.RawMessage(
		`{"name":"t","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},` +
			`"deep":{"properties":{"n":{"type":"integer","x-mcp-header":"N"},"b":{"type":"boolean","x-mcp-header":"B"}}},"free":{}}}}`)}}})
	for _, test := range []struct {
		name, arguments string
		headers         []string
		status          int
	}{
		{"none", `{"free":1}`, nil, 200},
		{"the same", `{"region":"eu","deep":{"n":42,"b":true}}`, []string{"Mcp-Param-Region", "eu", "Mcp-Param-N", "42.0", "Mcp-Param-B", "true"}, 200},
		{"encoded", `{"region":"é"}`, []string{"Mcp-Param-Region", "=?base64?w6k=?="}, 200},
		{"null", `{"region":null}`, nil, 200},
		{"missing", `{"region":"eu"}`, nil, 400},
		{"missing, deep", `{"deep":{"n":1}}`, nil, 400},
		{"another", `{"region":"eu"}`, []string{"Mcp-Param-Region", "us"}, 400},
		{"another number", `{"deep":{"n":42}}`, []string{"Mcp-Param-N", "43"}, 400},
		{"a costly number", `{"deep":{"n":1e999999999}}`, []string{"Mcp-Param-N", "1e999999998"}, 400},
		{"no argument", `{}`, []string{"Mcp-Param-Region", "eu"}, 400},
		{"unknown to the tool", `{}`, []string{"Mcp-Param-Other", "x"}, 200},
	} {
		a := b.modern(t, "1", "tools/call", `"name":"s__t","arguments":`+test.arguments+`,`, append([]string{"Mcp-Name", "s__t"}, test.headers...)...)
		if a.status != test.status || test.status == 400 && !strings.Contains(a.body, `"code":-32020`) {
			t.Errorf("%s: %d %s, want %d", test.name, a.status, a.body, test.status)
		}
	}
}
