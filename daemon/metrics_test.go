package daemon

import (
	"strings"
	"testing"
)

// A broken edit shows in the metrics with the time since when, and goes from them when it is mended.
func TestMetricsOfABrokenEdit(t *testing.T) {
	r := start(t, testSettings(t), demoEntries(t, "dice"))
	r.awaitReady("dice")
	before := metricsText(t, r)
	for _, line := range []string{
		`traposd_config_problems{severity="error"} 0`, `traposd_servers{state="ready"} 1`, `traposd_config_reloads_total{outcome="applied"} 1`,
		`traposd_sessions{revision="2025-11-25"} 0`, `traposd_servers{state="backing-off"} 0`, `traposd_build_info{version="test"} 1`,
		`traposd_gateway_refused_total{code="unauthorized"} 0`, `traposd_config_pending_entries 0`, `traposd_server_restarts_total{path=`, "go_goroutines ", "process_open_fds ",
	} {
		if !strings.Contains(before, line) {
			t.Errorf("not in the metrics: %s", line)
		}
	}
	r.write(strings.TrimSuffix(demoEntries(t, "dice"), "}}"))
	await(t, "the problem", func() bool {
		return strings.Contains(metricsText(t, r), `traposd_config_problems{severity="error"} 1`)
	})
	broken := metricsText(t, r)
	if !strings.Contains(broken, `traposd_config_last_good_since_timestamp_seconds{path="`+r.workspace+`/.mcp.json",server=""} 1.`) {
		t.Errorf("no time since when:\n%s", broken)
	}
	r.write(demoEntries(t, "dice"))
	await(t, "the mending", func() bool {
		now := metricsText(t, r)
		return strings.Contains(now, `traposd_config_problems{severity="error"} 0`) && !strings.Contains(now, "traposd_config_last_good_since_timestamp_seconds{")
	})
}
