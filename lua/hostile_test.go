package lua

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/traposd/traposd/lua/craftos"
)

// strange is what stands in place of a member of a frame: every kind of JSON value, in sizes that nobody expects.
// The long text is above every limit of a name, a path or an id, and no longer: some of it is typed key by key.
var strange = []string{
	`null`, `true`, `-1`, `1e999`, `""`, `"\u0000\n\u001b[2J"`, `"` + strings.Repeat("y", 1100) + `"`, `[]`, `{"a":{"a":[]}}`,
	strings.Repeat("[", 200) + strings.Repeat("]", 200),
}

// frameShapes are the frames that a computer takes, each member well-formed.
var frameShapes = []map[string]string{
	{"type": `"hello_ok"`, "traposId": `"1:"`, "heartbeatSeconds": `15`, "maxFrameBytes": `65536`, "maxInFlight": `8`},
	{"type": `"server_request"`, "id": `"h%d"`, "request": `"ping"`, "payload": `{}`, "timeoutMs": `1000`},
	{"type": `"server_request"`, "id": `"h%d"`, "request": `"exec-lua"`, "payload": `{"sourceBase64":""}`, "timeoutMs": `1000`},
	{"type": `"server_response"`, "id": `"h%d"`, "ok": `true`, "payload": `{}`, "error": `{}`},
	{"type": `"cancel"`, "id": `"h%d"`},
	{"type": `"chunk"`, "id": `"h%d"`, "seq": `0`, "last": `true`, "data": `"e30="`},
	{"type": `"chunk_ack"`, "id": `"h%d"`, "seq": `0`},
	{"type": `"ping"`, "t": `1`},
	{"type": `"pong"`, "t": `1`},
}

// payloadMembers are the members of payloads that the computer's services read.
var payloadMembers = map[string][]string{
	"exec-lua":    {"source", "sourceBase64", "timeoutMs", "chunkName", "session", "maxOutputBytes"},
	"write-file":  {"path", "pathBase64", "dataBase64", "mode"},
	"read-file":   {"path", "offset", "length"},
	"list-files":  {"path", "recursive", "limit"},
	"delete-file": {"path", "recursive"},
	"move-file":   {"from", "to", "replace"},
	"edit-file":   {"path", "oldBase64", "newBase64", "count"},
	"send-keys":   {"textBase64", "keys"},
	"send-event":  {"event", "arguments"},
}

// hostileFrames are frames of which one member is strange or missing, and texts that are no frames at all.
func hostileFrames() []string {
	frames := []string{
		"", " ", "null", "1", `"x"`, "[]", "{}", "{", `{"type":`, "nonsense", "\xff\xfe", strings.Repeat("[", 60_000),
		`{"type":"chunk","id":"deep","seq":0,"last":true,"data":"eyJ0eXBlIjoiY2h1bmsifQ=="}`,
		`{"type":"chunk","id":"none","seq":0,"last":true,"data":"%%%"}`,
		`{"type":"chunk","id":"late","seq":7,"last":true,"data":"e30="}`,
	}
	encode := func(shape map[string]string) {
		var members []string
		for name, value := range shape {
			if strings.Contains(value, "%d") {
				value = fmt.Sprintf(value, len(frames))
			}
			members = append(members, `"`+name+`":`+value)
		}
		frames = append(frames, "{"+strings.Join(members, ",")+"}")
	}
	for _, shape := range frameShapes {
		for name, good := range shape {
			delete(shape, name)
			encode(shape)
			for _, value := range strange {
				shape[name] = value
				encode(shape)
			}
			shape[name] = good
		}
	}
	return frames
}

// Whatever the other side sends, the programs go on, the connection lives, and the player's shell stays fit for use.
func TestHostileFrames(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	m, p := h.connect(craftos.Options{ID: 1})
	for i, text := range hostileFrames() {
		p.writeText([]byte(text))
		if i%16 == 0 { // well below the events that a computer keeps
			p.call("ping", i)
		}
	}
	if r := p.exec("return 1", time.Minute); !r.OK {
		t.Errorf("afterwards: %+v", r)
	}
	m.awaitScreen(">")
	if strings.Contains(m.screen(), "apis/") || strings.Contains(m.screen(), "servers/") {
		t.Error("an error of ours is on the screen")
	}
	m.Type("echo still here\n")
	m.awaitScreen("still here")
}

// Strange payloads get an answer each.
func TestHostilePayloads(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	m, p := h.connect(craftos.Options{ID: 1, Files: disk(t, map[string]string{"y": "1", "x": "2"})})
	for kind, names := range payloadMembers {
		for _, name := range names {
			for _, value := range strange {
				payload := map[string]json.RawMessage{"sourceBase64": json.RawMessage(`""`)}
				for _, other := range names[:1] {
					payload[other] = json.RawMessage(`"x"`)
				}
				payload[name] = json.RawMessage(value)
				if f := p.call(kind, payload); f.OK == nil || !*f.OK && f.Error.Code != "bad_request" {
					t.Errorf("%s with %s=%.20s: %+v", kind, name, value, f.Error)
				}
			}
		}
		if f := p.call(kind, []int{1}); f.OK == nil {
			t.Errorf("%s without an object was not answered", kind)
		}
	}
	m.Type("echo still here\n")
	m.awaitScreen("still here")
}

// What the gateway says is shown in bounds, and never taken for more than text.
func TestHostileRefusal(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	m, p := h.connect(craftos.Options{ID: 1})
	p.writeText([]byte(`{"type":"hello_error","code":{"a":1},"message":"` + strings.Repeat("loud ", 3000) + `\n\n\n"}`))
	p = h.next()
	p.awaitServes("exec-lua")
	if n := strings.Count(m.screen(), "loud"); n == 0 || n > 60 {
		t.Errorf("the message is %d words long on the screen", n)
	}
	p.writeText([]byte(`{"type":"hello_error"}`))
	p = h.next()
	p.awaitServes("exec-lua")
}

// A gateway that allows longer messages than this world gets shorter ones, not a connection that breaks again and again.
func TestMessageLimitOfTheWorld(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	_, p := h.connect(craftos.Options{ID: 1, MaxMessage: 20_000})
	if r := p.exec("return ('z'):rep(30000)", time.Minute); !r.OK || len(r.Returns[0].Bytes) != 30_000 {
		t.Errorf("%+v", r)
	}
	select {
	case <-p.gone:
		t.Error("the connection broke")
	default:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.largest > 20_000 {
		t.Errorf("a message of %d bytes", p.largest)
	}
}
