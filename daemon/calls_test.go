package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/traposd/traposd/mcp"
)

func TestCallsAreCountedAndBounded(t *testing.T) {
	c := newCalls()
	for i := range maxLatencies + 5 {
		c.add(mcp.Observation{ServerID: "a", Server: "a", Method: "tools/call", Tool: "t", Outcome: mcp.OutcomeOK, Duration: time.Duration(i) * time.Millisecond})
	}
	if got := c.last("a"); len(got) != maxLatencies || got[0] != 5 || got[maxLatencies-1] != maxLatencies+4 {
		t.Errorf("%v", got)
	}
	for i := range maxToolSeries + 100 {
		c.add(mcp.Observation{ServerID: "b", Server: "b", Method: "tools/call", Tool: fmt.Sprint(i), Outcome: mcp.OutcomeRefused})
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(c.seconds)
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || len(families[0].GetMetric()) != maxToolSeries+1 {
		t.Errorf("%d families %v", len(families), err)
	}
	c.keepOnly(map[string]bool{"b": true})
	if c.last("a") != nil || c.last("b") == nil {
		t.Errorf("%v %v", c.last("a"), c.last("b"))
	}
}

// What clients call shows in the metrics and in the status.
func TestCallsShow(t *testing.T) {
	r := start(t, testSettings(t), demoEntries(t, demoWords))
	r.awaitReady(demoWords)
	client := NewRPCClient(r.MCPURL(), r.settings.Token)
	call := func(tool string, arguments any) error {
		_, err := client.Call(t.Context(), "tools/call", map[string]any{"name": tool, "arguments": arguments})
		return err
	}
	if err := call("words__count", map[string]string{"text": "a b"}); err != nil {
		t.Error(err)
	}
	if err := call("words__count", map[string]int{"text": 1}); err != nil {
		t.Error(err) // the server says so in its result
	}
	if err := call("words__nothing", nil); err == nil {
		t.Error("a tool that is not there answers")
	}
	if err := client.Close(t.Context()); err != nil {
		t.Error(err)
	}
	text := metricsText(t, r)
	for _, outcome := range []mcp.Outcome{mcp.OutcomeOK, mcp.OutcomeToolError} {
		if want := fmt.Sprintf(`traposd_requests_seconds_count{method="tools/call",outcome="%s",server="words",tool="count"} 1`, outcome); !strings.Contains(text, want) {
			t.Errorf("not in the metrics: %s", want)
		}
	}
	if s := r.statusReport().Servers[0]; len(s.LatenciesMs) != 2 {
		t.Errorf("%+v", s)
	}
}
