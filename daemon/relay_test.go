package daemon

import (
	"fmt"
	"strings"
	"testing"

	"github.com/traposd/traposd/daemon/policy"
)

func policyRequest(network string) policy.Request {
	return policy.Request{Computer: policy.Computer{Network: network, TraposID: "7:base", Label: "base"}, Tool: "exec-lua", Changes: true, Open: true}
}

// asks runs a cloud.request on a computer, and gives what its program gets: the answer as JSON, or the code of the refusal.
func (w *world) asks(computer, request string) string {
	w.t.Helper()
	got := w.done("exec-lua", map[string]any{"computer": computer, "timeoutMs": 60_000, "code": `
		local answer, problem = require("/apis/libcloud").request(` + request + `)
		if problem then return problem.code .. ": " .. tostring(problem.message) end
		return textutils.serialiseJSON(answer)`})
	return fmt.Sprint(got["returns"].([]any)[0].(map[string]any)["value"])
}

// Programs on computers, our own Lua, ask the host and each other: within their network, and as far as the policy lets them.
func TestComputersAskTheHostAndEachOther(t *testing.T) {
	w := startWorld(t, ComputerOptions{ID: 1, Label: "hub"}, ComputerOptions{ID: 2, Label: "farm"}, ComputerOptions{ID: 3, Label: "far", Network: "other"})
	if got := w.asks("1", `"ping", {a = 1}`); got != `{"a":1}` {
		t.Errorf("ping: %s", got)
	}
	if got := w.asks("1", `"whoami"`); !strings.Contains(got, `"traposId":"1:hub"`) || !strings.Contains(got, `"networkId":"default"`) {
		t.Errorf("whoami: %s", got)
	}
	if got := w.asks("1", `"computers"`); !strings.Contains(got, "2:farm") || strings.Contains(got, "3:far") {
		t.Errorf("computers: %s", got)
	}
	const write = `"relay", {to = "2:farm", request = "write-file", payload = {path = "data/from-hub", dataBase64 = "aGVsbG8="}}`
	if got := w.asks("1", write); !strings.HasPrefix(got, "unauthorized: ") || !strings.Contains(got, "relay") {
		t.Errorf("a relay without a rule: %s", got)
	}
	w.own(`{"policy": [
		{"label": "farm", "relay": [{"from": "hub", "types": ["write-file", "exec-lua", "status"]}], "write": {"allow": ["data/**"]},
			"tools": {"allow": ["*", "exec-lua"]}, "maxRunSeconds": 5},
		{"relay": [{"from": "*"}]}]}`)
	if got := w.asks("1", write); !strings.Contains(got, `"ok":true`) || !strings.Contains(got, `"bytes":5`) {
		t.Errorf("a relay: %s", got)
	}
	if got := w.done("read-file", map[string]any{"computer": "2", "path": "data/from-hub"}); got["content"] != "hello" {
		t.Errorf("what came of it: %v", got)
	}
	for request, want := range map[string]string{
		`"relay", {to = "2:farm", request = "read-file", payload = {path = "data/from-hub"}}`:                "unauthorized: the policy at traposd.json:2:3 denies read-file on 2:farm (relay)",
		`"relay", {to = "2", request = "write-file", payload = {path = "data/../startup", dataBase64 = ""}}`: "unauthorized: the policy at traposd.json:2:3 denies write-file on 2:farm (write.allow)",
		`"relay", {to = "3:far", request = "exec-lua", payload = {}}`:                                        "unknown_computer: ",
		`"relay", {to = "2", request = "status", payload = {}}`:                                              "unknown_type: ",
		`"relay", {to = "2", request = "exec-lua", payload = {source = "return 6 * 7"}}`:                     `{`,
	} {
		if got := w.asks("1", request); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", request, got, want)
		}
	}
	if got := w.asks("2", `"relay", {to = "1:hub", request = "computer-info", payload = {}}`); !strings.Contains(got, `"id":1`) {
		t.Errorf("the other way: %s", got)
	}
	var outcomes []string
	for _, line := range w.logs.FilterMessage("computer tool used").All() {
		if fields := line.ContextMap(); fields["client"] == "computer 1:hub" {
			outcomes = append(outcomes, fmt.Sprintf("%s %s %v %v", fields["computer"], fields["tool"], fields["path"], fields["outcome"]))
		}
	}
	for _, want := range []string{"2:farm write-file data/from-hub denied", "2:farm write-file data/from-hub ok", "2:farm read-file data/from-hub denied", "2:farm exec-lua <nil> ok"} {
		if !strings.Contains(strings.Join(outcomes, "\n"), want) {
			t.Errorf("the audit has no %q:\n%s", want, strings.Join(outcomes, "\n"))
		}
	}
}
