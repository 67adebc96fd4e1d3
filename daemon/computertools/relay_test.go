package computertools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/traposd/traposd/daemon/policy"
	"github.com/traposd/traposd/gateway"
)

// What computer 1 asks of computer 2, what is sent on ("" if nothing), and what the log says.
func TestRelay(t *testing.T) {
	const grant = `{"relay":[{"from":"hub"}]`
	for _, c := range []struct{ policy, kind, payload, sent, outcome string }{
		{``, "status", `{"x":1}`, "", "denied"},
		{grant + `}`, "status", `{"x":1}`, `{"x":1}`, "ok"},
		{grant + `}`, "status", ``, ``, "ok"},
		{grant + `}`, "read-file", `{"path":"a"}`, `{"path":"a"}`, ""},
		{grant + `,"read":{"deny":["secret"]}}`, "read-file", `{"path":"a","pathBase64":"` + b64("SECRET") + `"}`, "", "denied"},
		{grant + `,"read":{"deny":["secret"]}}`, "read-file", `{"path":"a","path":"./secret"}`, "", "denied"},
		{grant + `,"read":{"deny":["secret"]}}`, "read-file", `{"path":"secret","path":"a","Path":"secret"}`, `{"Path":"secret","path":"a"}`, ""},
		{grant + `,"read":{"deny":["secret"]}}`, "list-files", `{}`, "", "denied"},
		{grant + `,"read":{"deny":["secret"]}}`, "list-files", `{"path":"logs"}`, `{"path":"logs"}`, ""},
		{grant + `,"write":{"deny":["a/b"]}}`, "delete-file", `{"path":"a","recursive":true}`, "", "denied"},
		{grant + `,"write":{"deny":["a/b"]}}`, "delete-file", `{"path":"a"}`, `{"path":"a"}`, "ok"},
		{grant + `,"write":{"deny":["a/b"]}}`, "move-file", `{"from":"c","toBase64":"` + b64("a/b") + `"}`, "", "denied"},
		{grant + `,"write":{"deny":["a/b"]}}`, "write-file", `{"path":"x","dataBase64":"Y2FuYXJ5"}`, `{"dataBase64":"Y2FuYXJ5","path":"x"}`, "ok"},
		{grant + `,"write":{"deny":["a/b"]}}`, "edit-file", `{"path":"a/b","oldBase64":"","newBase64":"Y2FuYXJ5"}`, "", "denied"},
		{grant + `,"write":{"deny":["a/b"]}}`, "exec-lua", `{"sourceBase64":"Y2FuYXJ5"}`, "", "denied"},
		{grant + `,"maxRunSeconds":2}`, "exec-lua", `{"sourceBase64":"Y2FuYXJ5"}`, `{"sourceBase64":"Y2FuYXJ5","timeoutMs":2000}`, "ok"},
		{grant + `,"maxRunSeconds":2}`, "exec-lua", `{"source":"canary","timeoutMs":1e9}`, `{"source":"canary","timeoutMs":2000}`, "ok"},
		{grant + `,"maxRunSeconds":2}`, "exec-lua", `{"timeoutMs":-1}`, `{"timeoutMs":2000}`, "ok"},
		{grant + `,"maxRunSeconds":2}`, "exec-lua", `{"timeoutMs":1500}`, `{"timeoutMs":1500}`, "ok"},
		{grant + `,"readOnly":true}`, "reboot-computer", `{}`, "", "denied"},
		{grant + `,"tools":{"ask":["reboot-computer"]}}`, "reboot-computer", `{}`, "", "denied"},
	} {
		var asked []string
		core, logs := observer.New(zapcore.DebugLevel)
		s := over(world(&asked, func(string) string { return `{"ok":true}` }), zap.New(core))
		p := rules(t, `[`+c.policy+`]`)
		s.policy = func() *policy.Policy { return p }
		_, err := s.Relay(t.Context(), gateway.RelayRequest{
			From: gateway.Computer{NetworkID: "home", TraposID: "1:hub", Label: "hub"}, To: gateway.Computer{NetworkID: "home", TraposID: "2:"},
			Type: c.kind, Payload: json.RawMessage(c.payload),
		})
		what := c.policy + " " + c.kind + " " + c.payload
		if c.outcome == "denied" {
			if !errors.Is(err, gateway.ErrUnauthorized) || len(asked) != 0 {
				t.Errorf("%s: %v %v", what, err, asked)
			}
		} else if err != nil || len(asked) != 1 || asked[0] != "home/2: "+c.kind+" "+c.sent {
			t.Errorf("%s: %v %v, want %s", what, err, asked, c.sent)
		}
		lines := logs.All()
		if c.outcome == "" && len(lines) == 0 {
			continue
		}
		if len(lines) != 1 || strings.Contains(fmt.Sprint(lines), "canary") {
			t.Errorf("%s: log %v", what, lines)
			continue
		}
		if fields := lines[0].ContextMap(); fields["client"] != "computer 1:hub" || fields["computer"] != "2:" || fields["tool"] != c.kind || fields["outcome"] != c.outcome {
			t.Errorf("%s: log %v", what, fields)
		}
	}
}

// A payload that could be read in two ways is not sent.
func TestRelayOfRubbish(t *testing.T) {
	var asked []string
	s := over(world(&asked, func(string) string { return `{}` }), zap.NewNop())
	p := rules(t, `[{"relay":[{"from":"*"}]}]`)
	s.policy = func() *policy.Policy { return p }
	for _, payload := range []string{`7`, `[]`, `null`, `{"path":7}`, `{"path":"é"}`, `{"pathBase64":7}`, `{"pathBase64":"%"}`, `{"pathBase64":"YQ"}`, `{"pathBase64":"Y Q=="}`, `{"pathBase64":"YR=="}`} {
		_, err := s.Relay(t.Context(), gateway.RelayRequest{
			From: gateway.Computer{NetworkID: "home", TraposID: "1:hub", Label: "hub"}, To: gateway.Computer{NetworkID: "home", TraposID: "2:"},
			Type: "read-file", Payload: json.RawMessage(payload),
		})
		if !errors.Is(err, gateway.ErrBadRequest) || len(asked) != 0 {
			t.Errorf("%s: %v %v", payload, err, asked)
		}
	}
}
