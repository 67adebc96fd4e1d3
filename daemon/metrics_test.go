package daemon

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func scrape(t *testing.T, r *running) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(r.MCPURL(), "/mcp")+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %v", resp.Status, err)
	}
	return string(body)
}

// A broken edit shows in the metrics with the time since when, and goes from them when it is mended.
func TestMetricsOfABrokenEdit(t *testing.T) {
	r := start(t, testSettings(t), demoEntries(t, "dice"))
	r.awaitReady("dice")
	before := scrape(t, r)
	for _, line := range []string{
		`traposd_config_problems{severity="error"} 0`, `traposd_servers{state="ready"} 1`, `traposd_config_reloads_total{outcome="applied"} 1`,
		`traposd_sessions 0`, `traposd_config_pending_entries 0`, `traposd_server_restarts_total{path=`, "go_goroutines ", "process_open_fds ",
	} {
		if !strings.Contains(before, line) {
			t.Errorf("not in the metrics: %s", line)
		}
	}
	r.write(strings.TrimSuffix(demoEntries(t, "dice"), "}}"))
	await(t, "the problem", func() bool {
		return strings.Contains(scrape(t, r), `traposd_config_problems{severity="error"} 1`)
	})
	broken := scrape(t, r)
	if !strings.Contains(broken, `traposd_config_last_good_since_timestamp_seconds{path="`+r.workspace+`/.mcp.json",server=""} 1.`) {
		t.Errorf("no time since when:\n%s", broken)
	}
	r.write(demoEntries(t, "dice"))
	await(t, "the mending", func() bool {
		now := scrape(t, r)
		return strings.Contains(now, `traposd_config_problems{severity="error"} 0`) && !strings.Contains(now, "traposd_config_last_good_since_timestamp_seconds{")
	})
}
