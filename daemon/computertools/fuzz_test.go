package computertools

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/traposd/traposd/gateway"
)

// requests are a call of each tool that asks a computer.
var requests = map[string]string{
	"exec-lua":        `{"computer":"1","code":"x"}`,
	"write-file":      `{"computer":"1","path":"a","content":"x"}`,
	"read-file":       `{"computer":"1","path":"a"}`,
	"list-files":      `{"computer":"1","glob":"**/*"}`,
	"delete-file":     `{"computer":"1","path":"a"}`,
	"move-file":       `{"computer":"1","from":"a","to":"b"}`,
	"edit-file":       `{"computer":"1","path":"a","old":"x","new":"y"}`,
	"read-screen":     `{"computer":"1","colours":true}`,
	"send-keys":       `{"computer":"1","text":"x"}`,
	"send-event":      `{"computer":"1","event":"x"}`,
	"computer-info":   `{"computer":"1"}`,
	"reboot-computer": `{"computer":"1","waitSeconds":0}`,
	"probe-computers": `{}`,
}

// Whatever a computer answers, each tool gives a result that keeps to its schema.
func FuzzAnswers(f *testing.F) {
	for _, answer := range []string{
		`{}`, `null`, `[]`, `7`, `"x"`, `{"ok":true}`, `{"ok":false,"kind":7}`, `{"ok":false,"kind":"io","errorBase64":"/w=="}`,
		`{"ok":true,"returns":[{"type":"table","value":{"a":[1e300,null]}},{"type":"string","valueBase64":"/w=="},null],"outputBase64":"AA=="}`,
		`{"ok":true,"entries":[null,{"path":"../x"},{"pathBase64":""}],"free":null}`,
		`{"ok":true,"entries":{}}`, `{"ok":true,"dataBase64":null,"size":-1}`,
		`{"ok":true,"width":1,"height":1,"textBase64":"YQ==","foreground":"0","background":"f","palette":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15],"cursorX":-3,"cursorY":1,"cursorBlink":true}`,
		`{"ok":true,"width":9223372036854775807,"height":9223372036854775807}`,
		`{"ok":true,"id":1,"type":"turtle","peripherals":[null,{"types":[null]}],"turtle":{"inventory":null},"position":{}}`,
	} {
		f.Add(answer)
	}
	s := New(registry{}, Options{})
	f.Fuzz(func(t *testing.T, answer string) {
		if !json.Valid([]byte(answer)) {
			return // the gateway hands on JSON only
		}
		s.registry = registry{
			computers: []gateway.Computer{{NetworkID: "n", TraposID: "1:", ComputerID: 1}},
			answer: func(context.Context, string, string, string, json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(answer), nil
			},
		}
		for tool, arguments := range requests {
			callWith(t, s, tool, arguments)
		}
	})
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New(registry{}, Options{})
	}
}
