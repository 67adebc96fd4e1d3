package wire_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/traposd/traposd/mcp/wire"
)

func TestSet(t *testing.T) {
	for _, test := range []struct{ object, key, value, want string }{
		{`{"a":1}`, "a", `2`, `{"a":2}`},
		{`{ "a" : 1 , "b" : 2 }`, "a", `[3]`, `{ "a" : [3] , "b" : 2 }`},
		{`{"a":1}`, "b", `2`, `{"a":1,"b":2}`},
		{`{ }`, "b", `2`, `{"b":2}`},
		{``, "b", `2`, `{"b":2}`},
		{`null`, "b", `2`, `{"b":2}`},
		{`{"a":1,"b":2,"a":3,"c":4}`, "a", `9`, `{"a":9,"b":2,"c":4}`},
		{`{"\u0061":1}`, "a", `2`, `{"\u0061":2}`},
		{`{"x":"}","n":{"a":5}}`, "a", `2`, `{"x":"}","n":{"a":5},"a":2}`},
		{`{"n":9007199254740993,"f":1.0,"name":"x"}`, "name", `"y"`, `{"n":9007199254740993,"f":1.0,"name":"y"}`},
	} {
		if got := string(wire.Set([]byte(test.object), test.key, json.RawMessage(test.value))); got != test.want {
			t.Errorf("Set(%s, %s, %s) = %s, want %s", test.object, test.key, test.value, got, test.want)
		}
	}
}

func TestDelete(t *testing.T) {
	for _, test := range []struct{ object, key, want string }{
		{`{"a":1}`, "a", `{}`},
		{`{"a":1,"b":2}`, "a", `{"b":2}`},
		{`{"a":1 , "b": 2, "a":3}`, "a", `{"b": 2}`},
		{`{"a":1}`, "b", `{"a":1}`},
		{`[1]`, "b", `[1]`},
	} {
		if got := string(wire.Delete([]byte(test.object), test.key)); got != test.want {
			t.Errorf("Delete(%s, %s) = %s, want %s", test.object, test.key, got, test.want)
		}
	}
}

func TestElements(t *testing.T) {
	for array, want := range map[string][]string{
		`[]`:                          nil,
		` [ ] `:                       nil,
		`{"a":[1]}`:                   nil,
		`[1, "a,]" ,[2,{}],{"b":[]}]`: {`1`, `"a,]"`, `[2,{}]`, `{"b":[]}`},
	} {
		var got []string
		for e := range wire.Elements([]byte(array)) {
			got = append(got, string(e))
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("Elements(%s) = %q, want %q", array, got, want)
		}
	}
}

func TestKind(t *testing.T) {
	for value, want := range map[string]byte{
		"": 0, " \n": 0, " {}": '{', "[": '[', `"x"`: '"', "true": 't', "false": 'f', "null": 'n', "-1": '0', "7": '0',
	} {
		if got := wire.Kind([]byte(value)); got != want {
			t.Errorf("Kind(%q) = %q, want %q", value, got, want)
		}
	}
}

func TestStringsComeBack(t *testing.T) {
	for _, s := range []string{"", "plain", `"\/`, "a\nb\x00\x1f\x7f", "é漢😀", "<&>", "\u2028"} {
		quoted := wire.Quote(s)
		if got, ok := wire.String(quoted); !ok || got != s {
			t.Errorf("String(Quote(%q)) = %q, %v", s, got, ok)
		}
		var std string
		if err := json.Unmarshal(quoted, &std); err != nil || std != s {
			t.Errorf("encoding/json reads %s as %q, %v", quoted, std, err)
		}
	}
	if got, ok := wire.String([]byte("12")); ok {
		t.Errorf("String(12) = %q, want none", got)
	}
}

// FuzzEdit holds Get, Set and Delete against encoding/json.
func FuzzEdit(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":{"a":[2,"}"]},"a":"\\\""}`), "a", []byte(`{"x":1}`))
	f.Add([]byte(" {\n\"k\" :\t1 } "), "k", []byte(`null`))
	f.Add([]byte(`{}`), "", []byte(`""`))
	f.Fuzz(func(t *testing.T, object []byte, key string, value []byte) {
		if !json.Valid(object) || wire.Kind(object) != '{' || !json.Valid(value) {
			t.Skip()
		}
		value = bytes.TrimSpace(value)
		key = strings.ToValidUTF8(key, "\ufffd")
		before := bytes.Clone(object)

		edited := wire.Set(object, key, value)
		if !json.Valid(edited) {
			t.Fatalf("Set made %s", edited)
		}
		if got, ok := wire.Get(edited, key); !ok || !bytes.Equal(got, value) {
			t.Fatalf("Get after Set: %s, %v; want %s", got, ok, value)
		}
		without := wire.Delete(edited, key)
		if !json.Valid(without) {
			t.Fatalf("Delete made %s", without)
		}
		if got, ok := wire.Get(without, key); ok {
			t.Fatalf("Get after Delete: %s", got)
		}
		if want := others(object, key); !reflect.DeepEqual(others(edited, key), want) || !reflect.DeepEqual(others(without, key), want) {
			t.Fatalf("the other members of %s became %s and %s", object, edited, without)
		}
		if !bytes.Equal(object, before) {
			t.Fatal("the object itself was changed")
		}

		var std map[string]json.RawMessage
		if json.Unmarshal(object, &std) == nil {
			seen := map[string]bool{}
			for k := range wire.Members(object) {
				seen[k] = true
			}
			if len(std) != len(seen) {
				t.Fatalf("%d members seen, encoding/json has %d in %s", len(seen), len(std), object)
			}
		}
	})
}

func others(object []byte, key string) [][2]string {
	var list [][2]string
	for k, v := range wire.Members(object) {
		if k != key {
			list = append(list, [2]string{k, string(v)})
		}
	}
	return list
}

func BenchmarkSet(b *testing.B) {
	params := []byte(`{"name":"db__query","arguments":{"sql":"select 1","limit":10,"deep":{"a":[1,2,3]}}}`)
	name := wire.Quote("query")
	b.ReportAllocs()
	for b.Loop() {
		wire.Set(params, "name", name)
	}
}
