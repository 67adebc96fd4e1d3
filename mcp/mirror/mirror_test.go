package mirror

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/traposd/traposd/mcp/wire"
)

func TestSet(t *testing.T) {
	marked := Params(json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},` +
		`"in":{"properties":{"n":{"type":"integer","x-mcp-header":"N"},"big":{"x-mcp-header":"Big"}}},"flag":{"x-mcp-header":"Flag"},` +
		`"none":{"x-mcp-header":"None"},"list":{"x-mcp-header":"List"},"odd":{"x-mcp-header":7},"other":{"type":"string"}}}`))
	h := http.Header{}
	Set(h, &wire.Message{Method: "tools/call", Params: json.RawMessage(`{"name":"é","arguments":{"region":" eu",` +
		`"in":{"n":42.0,"big":9007199254740993},"flag":false,"none":null,"list":[1],"odd":"x"}}`)}, func(string) []Param { return marked })
	want := map[string]string{
		"Mcp-Method": "tools/call", "Mcp-Name": "=?base64?w6k=?=", "Mcp-Param-Region": "=?base64?IGV1?=", "Mcp-Param-N": "42", "Mcp-Param-Flag": "false",
	}
	if len(h) != len(want) {
		t.Errorf("headers %v", h)
	}
	for name, value := range want {
		if got := h.Get(name); got != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
	for _, row := range []struct{ method, params, name string }{
		{"resources/read", `{"uri":"file:///a"}`, "file:///a"},
		{"prompts/get", `{"name":"p"}`, "p"},
		{"tools/list", `{"name":"p"}`, ""},
		{"tools/call", `{"name":7}`, ""},
	} {
		h := http.Header{}
		Set(h, &wire.Message{Method: row.method, Params: json.RawMessage(row.params)}, func(string) []Param { return nil })
		if h.Get("Mcp-Method") != row.method || h.Get("Mcp-Name") != row.name {
			t.Errorf("%s %s: %v", row.method, row.params, h)
		}
	}
}

func TestEncodingIsUndone(t *testing.T) {
	for _, text := range []string{"", "plain", " space", "é", "a\nb", "=?base64?", "=?base64?w6k=?=", "=?base64?x?=", "\x7f"} {
		encoded := Encode(text)
		if got, ok := Decode(encoded); !ok || got != text {
			t.Errorf("%q: encoded %q, decoded %q %v", text, encoded, got, ok)
		}
	}
	for value, fine := range map[string]bool{"=?base64?w6k=": true, "=?base64?!?=": false} {
		if _, ok := Decode(value); ok != fine {
			t.Errorf("%q: %v", value, ok)
		}
	}
}

func TestDeepSchemasEnd(t *testing.T) {
	schema := json.RawMessage(`{"x-mcp-header":"X"}`)
	for range 40 {
		schema = json.RawMessage(`{"properties":{"a":` + string(schema) + `}}`)
	}
	if found := Params(schema); len(found) != 0 {
		t.Errorf("found %v", found)
	}
}
