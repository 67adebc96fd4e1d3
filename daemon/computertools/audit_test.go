package computertools

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/traposd/traposd/gateway"
)

// One line per deed: who, where, a hash of what, and what came of it. Reading leaves none, and no content is in the log.
func TestAudit(t *testing.T) {
	const (
		ok      = `{"ok":true}`
		refused = `{"ok":false,"kind":"no_space","errorBase64":""}`
	)
	for _, c := range []struct{ tool, arguments, answer, sha, outcome string }{
		{"exec-lua", `{"computer":"1","code":"hello"}`, ok, "2cf24dba5fb0a30e", "ok"},
		{"exec-lua", `{"computer":"1","code":"hello"}`, `{"ok":false,"kind":"timeout"}`, "2cf24dba5fb0a30e", "timeout"},
		{"exec-lua", `{"computer":"1","code":"hello"}`, ``, "2cf24dba5fb0a30e", "disconnected"},
		{"exec-lua", `{"computers":["*"],"code":"hello"}`, ok, "2cf24dba5fb0a30e", "ok"},
		{"write-file", `{"computer":"1","path":"a","content":"hello"}`, refused, "2cf24dba5fb0a30e", "no_space"},
		{"edit-file", `{"computer":"1","path":"a","old":"b","new":"c"}`, ok, "8badde10c760e9b7", "ok"},
		{"delete-file", `{"computer":"1","path":"hello"}`, ok, "2cf24dba5fb0a30e", "ok"},
		{"move-file", `{"computer":"1","from":"a","to":"b"}`, ok, "59b271ae1bbcb1d3", "ok"},
		{"send-keys", `{"computer":"1","text":"hello"}`, ok, "", "ok"},
		{"send-event", `{"computer":"1","event":"hello"}`, ok, "2cf24dba5fb0a30e", "ok"},
		{"reboot-computer", `{"computer":"1","waitSeconds":0}`, ok, "", "ok"},
		{"read-file", `{"computer":"1","path":"hello"}`, ok, "", ""},
		{"list-files", `{"computer":"1"}`, ok, "", ""},
		{"computer-info", `{"computer":"1"}`, ok, "", ""},
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
		if c.outcome == "" {
			if len(lines) != 0 {
				t.Errorf("%s left %v", c.tool, lines)
			}
			continue
		}
		if len(lines) != 1 {
			t.Errorf("%s left %d lines", c.tool, len(lines))
			continue
		}
		fields := lines[0].ContextMap()
		sha, _ := fields["sha256"].(string)
		if lines[0].Level != zapcore.InfoLevel || lines[0].Message != "computer tool used" || fields["client"] != "tester/1" || fields["network"] != "n" ||
			fields["computer"] != "1:a" || fields["tool"] != c.tool || sha != c.sha || fields["outcome"] != c.outcome || fields["duration"] == nil {
			t.Errorf("%s %s left %v", c.tool, c.arguments, fields)
		}
		for key, value := range fields {
			if s, isText := value.(string); isText && strings.Contains(s, "hello") {
				t.Errorf("%s: the content is in the log, as %s", c.tool, key)
			}
		}
	}
}
