package computertools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/traposd/traposd/gateway"
)

// shaOfCanary is the hash of "canary", as sha256sum says it.
const shaOfCanary = "e100fbce008c04ec40637af0af91fb2f05aeedc23f856a2d3c0b1580625d755e"

// One line per deed: who, where, a hash of what, and what came of it. Reading leaves none, and no content is in the log.
func TestAudit(t *testing.T) {
	const (
		ok      = `{"ok":true}`
		refused = `{"ok":false,"kind":"no_space","errorBase64":"Y2FuYXJ5"}`
	)
	for _, c := range []struct{ tool, arguments, answer, want string }{
		{"exec-lua", `{"computer":"1","code":"canary"}`, `{"ok":true,"outputBase64":"Y2FuYXJ5"}`, "bytes=6 outcome=ok sha256=SHA"},
		{"exec-lua", `{"computer":"1","code":"canary","session":"canary"}`, `{"ok":false,"kind":"timeout"}`, "bytes=6 outcome=timeout sha256=SHA"},
		{"exec-lua", `{"computer":"1","code":"canary"}`, ``, "bytes=6 outcome=disconnected sha256=SHA"},
		{"exec-lua", `{"computers":["*"],"code":"canary"}`, ok, "bytes=6 outcome=ok sha256=SHA"},
		{"write-file", `{"computer":"1","path":"a","content":"canary"}`, refused, "bytes=6 outcome=no_space path=a sha256=SHA"},
		{"write-file", `{"computer":"1","path":"a","content":""}`, ok, "bytes=0 outcome=ok path=a sha256=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"edit-file", `{"computer":"1","path":"a","old":"canary","new":"canary"}`, ok, "bytes=6 outcome=ok path=a sha256=SHA"},
		{"delete-file", `{"computer":"1","path":"a/b"}`, ok, "outcome=ok path=a/b"},
		{"delete-file", `{"computer":"1","path":"` + strings.Repeat("x", 300) + `"}`, ok, "outcome=ok path=" + strings.Repeat("x", 256) + "…"},
		{"move-file", `{"computer":"1","from":"a","to":"b"}`, ok, "outcome=ok path=a to=b"},
		{"send-keys", `{"computer":"1","text":"canary","keys":["enter"]}`, ok, "bytes=7 outcome=ok"},
		{"send-event", `{"computer":"1","event":"x","arguments":["canary"]}`, ok, "bytes=1 outcome=ok sha256=2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"},
		{"reboot-computer", `{"computer":"1","waitSeconds":0}`, ok, "outcome=ok"},
		{"read-file", `{"computer":"1","path":"a"}`, ok, ""},
		{"list-files", `{"computer":"1"}`, ok, ""},
		{"read-screen", `{"computer":"1"}`, ok, ""},
		{"computer-info", `{"computer":"1"}`, ok, ""},
	} {
		core, logs := observer.New(zapcore.DebugLevel)
		r := registry{
			computers: []gateway.Computer{{NetworkID: "n", TraposID: "1:a", ComputerID: 1}},
			answer: func(context.Context, string, string, string, json.RawMessage) (json.RawMessage, error) {
				if c.answer == "" {
					return nil, &gateway.Error{Code: gateway.CodeDisconnected, Message: "gone"}
				}
				return json.RawMessage(c.answer), nil
			},
		}
		callWith(t, over(r, zap.New(core)), c.tool, c.arguments)
		lines := logs.All()
		if c.want == "" {
			if len(lines) != 0 {
				t.Errorf("%s left %v", c.tool, lines)
			}
			continue
		}
		if len(lines) != 1 || lines[0].Level != zapcore.InfoLevel || lines[0].Message != "computer tool used" {
			t.Errorf("%s left %v", c.tool, lines)
			continue
		}
		checkLine(t, lines[0].ContextMap(), c.tool, strings.ReplaceAll(c.want, "SHA", shaOfCanary))
	}
}

// checkLine compares what is left of a line without the fields that every one has.
func checkLine(t *testing.T, fields map[string]any, tool, want string) {
	t.Helper()
	if strings.Contains(fmt.Sprint(fields), "canary") {
		t.Errorf("%s: the content is in the log: %v", tool, fields)
	}
	if fields["client"] != "tester/1" || fields["session"] != "s1" || fields["network"] != "n" || fields["computer"] != "1:a" ||
		fields["tool"] != tool || fields["duration"] == nil {
		t.Errorf("%s left %v", tool, fields)
	}
	for _, name := range []string{"client", "session", "network", "computer", "tool", "duration"} {
		delete(fields, name)
	}
	got := strings.NewReplacer("map[", "", "]", "", ":", "=").Replace(fmt.Sprint(fields))
	if got != want {
		t.Errorf("%s left %s, want %s", tool, got, want)
	}
}
