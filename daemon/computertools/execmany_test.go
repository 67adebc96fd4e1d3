package computertools

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/traposd/traposd/gateway"
)

// many is a registry of computers in two networks; peak counts how many work at once.
func many(n int, peak *atomic.Int64) registry {
	var working atomic.Int64
	var r registry
	for i := range n {
		r.computers = append(r.computers, gateway.Computer{
			NetworkID: "n", TraposID: fmt.Sprintf("%d:miner%d", i, i), ComputerID: i, Label: fmt.Sprintf("miner%d", i),
		})
	}
	r.computers = append(r.computers, gateway.Computer{NetworkID: "o", TraposID: "1000:farm", ComputerID: 1000, Label: "farm"})
	r.answer = func(_ context.Context, network, computer, _ string, payload json.RawMessage) (json.RawMessage, error) {
		now := working.Add(1)
		defer working.Add(-1)
		for old := peak.Load(); now > old && !peak.CompareAndSwap(old, now); old = peak.Load() {
			continue
		}
		switch id, _, _ := strings.Cut(computer, ":"); id {
		case "2":
			return nil, &gateway.Error{Code: gateway.CodeBusy, Message: "full"}
		case "3":
			return json.RawMessage(`{"ok":false,"kind":"runtime","errorBase64":"` + b64("boom") + `","outputBase64":"` + b64("before") + `"}`), nil
		case "nobody":
			return nil, &gateway.Error{Code: gateway.CodeUnknownComputer, Message: "no such computer"}
		}
		var asked struct{ MaxOutputBytes int }
		_ = json.Unmarshal(payload, &asked)
		return json.RawMessage(`{"ok":true,"outputBase64":"` + b64(network+" "+computer+" "+strconv.Itoa(asked.MaxOutputBytes)) +
			`","returns":[{"type":"string","valueBase64":"` + b64(strings.Repeat("é", 5000)) + `"}]}`), nil
	}
	return r
}

func names(t *testing.T, s map[string]any) string {
	t.Helper()
	var out []string
	for _, r := range s["results"].([]any) {
		r := r.(map[string]any)
		state := "ok"
		if f, failed := r["error"].(map[string]any); failed {
			state = f["kind"].(string)
		}
		out = append(out, fmt.Sprintf("%v/%v=%s", r["network"], r["computer"], state))
	}
	return strings.Join(out, " ")
}

// A result per computer, in a stable order, whoever answers first; what fails on one is the matter of that one.
func TestExecMany(t *testing.T) {
	var peak atomic.Int64
	r := many(5, &peak)
	for _, c := range []struct{ computers, network, want string }{
		{`["*"]`, "", "n/0:miner0=ok n/1:miner1=ok n/2:miner2=busy n/3:miner3=runtime n/4:miner4=ok o/1000:farm=ok"},
		{`["miner?"]`, "", "n/0:miner0=ok n/1:miner1=ok n/2:miner2=busy n/3:miner3=runtime n/4:miner4=ok"},
		{`["*"]`, "o", "o/1000:farm=ok"},
		{`["4","1*","nobody","1:miner1"]`, "", "n/4:miner4=ok n/1:miner1=ok o/1000:farm=ok /nobody=unknown_computer"},
	} {
		result, s := call(t, r, "exec-lua", `{"computers":`+c.computers+`,"network":"`+c.network+`","code":"x"}`)
		if got := names(t, s); got != c.want || result.IsError {
			t.Errorf("%s: %s, want %s", c.computers, got, c.want)
		}
	}
	result, s := call(t, r, "exec-lua", `{"computers":["0","3"],"code":"x"}`)
	if s["ok"] != false || !strings.HasPrefix(text(result), "1 of 2 ok\n--- 0:miner0 (network n)\nn 0:miner0 65536\n[return 1] é") ||
		!strings.HasSuffix(text(result), "\n--- 3:miner3 (network n)\nbefore\n[runtime] boom") {
		t.Errorf("%v %q", s["ok"], text(result))
	}
	// Nobody was reached: an error. Nobody fits: one too.
	if result, _ := call(t, r, "exec-lua", `{"computers":["2","nobody"],"code":"x"}`); !result.IsError {
		t.Errorf("nobody was reached: %q", text(result))
	}
	if result, _ := call(t, r, "exec-lua", `{"computers":["z*"],"code":"x"}`); !result.IsError || !strings.Contains(text(result), "no connected computer fits") {
		t.Errorf("%q", text(result))
	}
}

// Many computers share the room for what they say, and only so many work at once.
func TestExecManyIsBounded(t *testing.T) {
	var peak atomic.Int64
	_, s := call(t, many(400, &peak), "exec-lua", `{"computers":["*"],"code":"x"}`)
	results := s["results"].([]any)
	first := results[0].(map[string]any)
	value := first["returns"].([]any)[0].(map[string]any)
	share := manyBytes / 401
	if len(results) != 401 || peak.Load() > execConcurrency || first["output"] != "n 0:miner0 "+strconv.Itoa(share) ||
		value["truncated"] != true || value["value"] != strings.Repeat("é", share/2) {
		t.Errorf("%d results, %d at once, %v, %d bytes", len(results), peak.Load(), first["output"], len(value["value"].(string)))
	}
	if result, _ := call(t, many(maxTargets, &peak), "exec-lua", `{"computers":["*"],"code":"x"}`); !result.IsError {
		t.Error("more computers than allowed are taken")
	}
}

func TestExecSession(t *testing.T) {
	var asked map[string]any
	call(t, replying(&asked, `{"ok":true}`), "exec-lua", `{"computer":"1","code":"x","session":"mine"}`)
	if asked["session"] != "mine" || asked["maxOutputBytes"] != nil {
		t.Errorf("asked %v", asked)
	}
}
