package wire_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/traposd/traposd/mcp/wire"
)

func TestParseKeepsEveryPartAsWritten(t *testing.T) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"a":1.0,"b":[ 1 , 2 ]}}`,
		`{"jsonrpc":"2.0","id":1.50,"method":"x"}`,
		`{"jsonrpc":"2.0","id":"\u00e9","method":"x"}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":-0,"result":null}`,
		`{"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no","data":{"x":1e400}}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`,
	} {
		m, err := wire.Parse([]byte(line))
		if err != nil {
			t.Errorf("Parse(%s): %v", line, err)
			continue
		}
		if got := string(m.Append(nil)); got != line {
			t.Errorf("Parse and Append:\n got %s\nwant %s", got, line)
		}
	}
}

func TestParseTellsKinds(t *testing.T) {
	for line, want := range map[string][3]bool{
		`{"jsonrpc":"2.0","id":1,"method":"x"}`:  {true, false, false},
		`{"jsonrpc":"2.0","method":"x"}`:         {false, true, false},
		`{"jsonrpc":"2.0","id":1,"result":{}}`:   {false, false, true},
		`{"result":{},"id":"a","jsonrpc":"2.0"}`: {false, false, true},
	} {
		m, err := wire.Parse([]byte(line))
		if err != nil {
			t.Fatalf("Parse(%s): %v", line, err)
		}
		if got := [3]bool{m.IsRequest(), m.IsNotification(), m.IsResponse()}; got != want {
			t.Errorf("%s is %v, want %v", line, got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct {
		line string
		code int64
		id   string
	}{
		{``, wire.CodeParseError, ""},
		{`{`, wire.CodeParseError, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"x"} {}`, wire.CodeParseError, ""},
		{`[]`, wire.CodeInvalidRequest, ""},
		{`"x"`, wire.CodeInvalidRequest, ""},
		{`{"id":7,"method":"x"}`, wire.CodeInvalidRequest, "7"},
		{`{"id":7,"jsonrpc":"1.0","method":"x"}`, wire.CodeInvalidRequest, "7"},
		{`{"id":7,"jsonrpc":2.0,"method":"x"}`, wire.CodeInvalidRequest, "7"},
		{`{"jsonrpc":"2.0","id":7}`, wire.CodeInvalidRequest, "7"},
		{`{"jsonrpc":"2.0","id":7,"METHOD":"x"}`, wire.CodeInvalidRequest, "7"},
		{`{"jsonrpc":"2.0","id":7,"method":""}`, wire.CodeInvalidRequest, "7"},
		{`{"jsonrpc":"2.0","id":7,"method":3}`, wire.CodeInvalidRequest, "7"},
		{`{"jsonrpc":"2.0","id":null,"method":"x"}`, wire.CodeInvalidRequest, ""},
		{`{"jsonrpc":"2.0","id":{},"method":"x"}`, wire.CodeInvalidRequest, ""},
		{`{"jsonrpc":"2.0","id":true,"method":"x"}`, wire.CodeInvalidRequest, ""},
		{`{"jsonrpc":"2.0","id":7,"method":"x","params":"y"}`, wire.CodeInvalidRequest, "7"},
		{`{"jsonrpc":"2.0","id":7,"method":"x","result":{}}`, wire.CodeInvalidRequest, "7"},
		{`{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":""}}`, wire.CodeInvalidRequest, "7"},
		{`{"jsonrpc":"2.0","id":7,"error":3}`, wire.CodeInvalidRequest, "7"},
		{`{"jsonrpc":"2.0","id":7,"error":{"code":"x","message":""}}`, wire.CodeInvalidRequest, "7"},
		{`{"jsonrpc":"2.0","id":7,"id":8,"method":"x"}`, wire.CodeInvalidRequest, "7"},
		{`{"jsonrpc":"2.0","id":7,"method":"x","m\u0065thod":"y"}`, wire.CodeInvalidRequest, "7"},
	} {
		m, err := wire.Parse([]byte(test.line))
		var e *wire.Error
		if !errors.As(err, &e) || e.Code != test.code {
			t.Errorf("Parse(%s): error %v, want code %d", test.line, err, test.code)
			continue
		}
		if m == nil || string(m.ID) != test.id {
			t.Errorf("Parse(%s): message %v, want id %s", test.line, m, test.id)
		}
	}
}

func TestAppendWritesAnswers(t *testing.T) {
	for want, m := range map[string]*wire.Message{
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                                         wire.Response(json.RawMessage("1"), nil),
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"a \"b\""}}`:      wire.ErrorResponse(nil, wire.Errorf(wire.CodeParseError, "a %q", "b")),
		`{"jsonrpc":"2.0","method":"m","params":[1]}`:                                  {Method: "m", Params: json.RawMessage("[1]")},
		`{"jsonrpc":"2.0","id":"x","method":"<&>\u2028\n","params":{"k":"\u003c<&>"}}`: {ID: json.RawMessage(`"x"`), Method: "<&>\u2028\n", Params: json.RawMessage(`{"k":"\u003c<&>"}`)},
	} {
		if got := string(m.Append(nil)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":[{"b":"\\\""}]}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m","data":[]}}`,
		` { "result" : null , "jsonrpc" : "2.0" , "id" : "\ud800" } `,
		`[{"jsonrpc":"2.0","method":"x"}]`, `{"a":{"b":[[[]]]},"`, "{\"\xff\":1}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := wire.Parse(data)
		if m == nil {
			t.Fatal("no message")
		}
		if err != nil {
			var e *wire.Error
			if !errors.As(err, &e) {
				t.Fatalf("the error is a %T", err)
			}
			return
		}
		line := m.Append(nil)
		again, err := wire.Parse(line)
		if err != nil {
			t.Fatalf("what was read as a message is written as %s: %v", line, err)
		}
		if got := again.Append(nil); string(got) != string(line) {
			t.Fatalf("written, read and written again:\n%s\n%s", line, got)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	line := []byte(`{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"db__query","arguments":{"sql":"select 1","limit":10}}}`)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.Parse(line); err != nil {
			b.Fatal(err)
		}
	}
}
