package daemon

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"go.yaml.in/yaml/v3"

	"github.com/traposd/traposd/gateway"
	"github.com/traposd/traposd/mcp"
)

// documentedMetrics are the rows of the table in packaging/doc/operating.md: type and labels, as "gauge state", by name.
func documentedMetrics(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("../packaging/doc/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]string{}
	row := regexp.MustCompile("(?m)^\\| `(traposd_[a-z_]+)` \\| ([a-z]+) \\| ([a-z`, ]*) ?\\|")
	for _, match := range row.FindAllStringSubmatch(string(data), -1) {
		if _, twice := table[match[1]]; twice {
			t.Errorf("%s stands twice in the table", match[1])
		}
		table[match[1]] = strings.TrimSpace(match[2] + " " + strings.ReplaceAll(match[3], "`", ""))
	}
	return table
}

// everyMetric are those of a service to which everything has happened that has a metric, in the form of the table.
func everyMetric(t *testing.T) map[string]string {
	t.Helper()
	calls, requests, now := newCalls(), newComputerRequests(), time.Now()
	calls.add(mcp.Observation{ServerID: "1", Server: "dice", Method: "tools/call", Tool: "roll", Outcome: mcp.OutcomeOK})
	requests.add(gateway.Observation{Type: "ping", Outcome: gateway.OutcomeOK})
	m := newMetrics("1", func() scrape {
		return scrape{
			servers: ServersReport{
				Servers:  []ServerReport{{Name: "dice", State: "ready"}},
				Problems: []ProblemReport{{Severity: "error", Path: "f", KeptLastGood: true, Since: &now}},
			},
			gateway: &gateway.Stats{},
		}
	}, calls.seconds, requests.seconds)
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]string{}
	for _, family := range families {
		if strings.HasPrefix(family.GetName(), "go_") || strings.HasPrefix(family.GetName(), "process_") {
			continue
		}
		there[family.GetName()] = strings.TrimSpace(strings.ToLower(family.GetType().String()) + " " + strings.Join(labelNames(t, family), ", "))
	}
	return there
}

func labelNames(t *testing.T, family *dto.MetricFamily) (names []string) {
	t.Helper()
	for i, metric := range family.GetMetric() {
		var these []string
		for _, label := range metric.GetLabel() {
			these = append(these, label.GetName())
		}
		slices.Sort(these)
		if i > 0 && !slices.Equal(these, names) {
			t.Errorf("%s has the labels %v and %v", family.GetName(), names, these)
		}
		names = these
	}
	return names
}

// TestEveryMetricIsInTheTable holds packaging/doc/operating.md against the program.
func TestEveryMetricIsInTheTable(t *testing.T) {
	table, there := documentedMetrics(t), everyMetric(t)
	for name, is := range there {
		if table[name] != is {
			t.Errorf("%s is a %s; the table says %q", name, is, table[name])
		}
	}
	for name := range table {
		if there[name] == "" {
			t.Errorf("%s is in the table, and there is no such metric", name)
		}
	}
	r := start(t, testSettings(t), demoEntries(t, "dice"))
	r.awaitReady("dice")
	names := regexp.MustCompile(`(?m)^# TYPE (traposd_\w+) (\w+)$`).FindAllStringSubmatch(metricsText(t, r), -1)
	for _, found := range names {
		if kind, _, _ := strings.Cut(table[found[1]], " "); kind != found[2] {
			t.Errorf("/metrics has %s, a %s; the table says %q", found[1], found[2], kind)
		}
	}
	if len(names) < 8 {
		t.Errorf("/metrics has only %v", names)
	}
}

// The number of series does not grow with what callers make up.
func TestRequestTypesAreBounded(t *testing.T) {
	requests := newComputerRequests()
	for _, kind := range []string{"ping", "invented", "invented-too", ""} {
		requests.add(gateway.Observation{Type: kind, Outcome: gateway.CodeUnknownType})
	}
	m := newMetrics("1", func() scrape { return scrape{sessions: map[string]int{"1999-01-01": 1, "2000-01-01": 2}} }, requests.seconds)
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		switch family.GetName() {
		case "traposd_computer_requests_seconds":
			if n := len(family.GetMetric()); n != 2 {
				t.Errorf("%d series of requests", n)
			}
		case "traposd_sessions":
			if n := len(family.GetMetric()); n != len(sessionRevisions)+1 {
				t.Errorf("%d series of sessions", n)
			}
		case "traposd_computers", "traposd_gateway_frames_total":
			t.Errorf("there is no gateway, and there is %s", family.GetName())
		}
	}
}

// Outside of metrics' names, these are what an expression of PromQL, of the dashboard or of a rule may say.
var (
	metricName  = regexp.MustCompile(`\b(traposd|process|go)_[a-z_]+\b`)
	grouping    = regexp.MustCompile(`\bby \(([a-z_, ]+)\)`)
	matchers    = regexp.MustCompile(`\{([^{}]*)\}`)
	matcherName = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"`)
	series      = regexp.MustCompile(`_(bucket|count|sum)$`)
)

// checkExpression holds the names of metrics and labels in an expression against the table.
func checkExpression(t *testing.T, where, expression string, table map[string]string) {
	t.Helper()
	known := []string{"instance", "job", "le"} // of Prometheus itself
	found := metricName.FindAllString(expression, -1)
	for _, name := range found {
		is, there := table[name]
		if base := series.ReplaceAllString(name, ""); !there && strings.HasPrefix(table[base], "histogram") {
			is, there = table[base], true
		}
		if !there && strings.HasPrefix(name, "traposd_") {
			t.Errorf("%s: there is no metric %s", where, name)
		}
		_, labels, _ := strings.Cut(is, " ")
		known = append(known, strings.Split(labels, ", ")...)
	}
	if len(found) == 0 && !strings.HasPrefix(expression, "up{") {
		t.Errorf("%s names no metric: %s", where, expression)
	}
	var used []string
	for _, by := range grouping.FindAllStringSubmatch(expression, -1) {
		used = append(used, strings.Split(by[1], ", ")...)
	}
	for _, braces := range matchers.FindAllStringSubmatch(expression, -1) {
		for _, match := range matcherName.FindAllStringSubmatch(braces[1], -1) {
			used = append(used, match[1])
		}
	}
	for _, label := range used {
		if !slices.Contains(known, label) {
			t.Errorf("%s: no metric in it has a label %s", where, label)
		}
	}
	if strings.Count(expression, "(") != strings.Count(expression, ")") {
		t.Errorf("%s: parentheses are open: %s", where, expression)
	}
}

func TestDashboard(t *testing.T) {
	data, err := os.ReadFile("../packaging/grafana/traposd.json")
	if err != nil {
		t.Fatal(err)
	}
	type place struct{ H, W, X, Y int }
	var dashboard struct {
		UID    string
		Panels []struct {
			ID      int
			Title   string
			GridPos place
			Targets []struct{ Expr, RefID string }
		}
	}
	if err := json.Unmarshal(data, &dashboard); err != nil {
		t.Fatal(err)
	}
	table, shown := documentedMetrics(t), map[string]bool{}
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for _, panel := range dashboard.Panels {
		if ids[panel.ID] || panel.Title == "" || len(panel.Targets) == 0 {
			t.Errorf("panel %d, %q: its number is taken, or it has no title or no query", panel.ID, panel.Title)
		}
		ids[panel.ID] = true
		for x := range panel.GridPos.W {
			for y := range panel.GridPos.H {
				at := [2]int{panel.GridPos.X + x, panel.GridPos.Y + y}
				if other := taken[at]; other != "" || at[0] >= 24 {
					t.Fatalf("%q lies over %q, or beyond the edge", panel.Title, other)
				}
				taken[at] = panel.Title
			}
		}
		for _, target := range panel.Targets {
			checkExpression(t, panel.Title, target.Expr, table)
			for _, name := range metricName.FindAllString(target.Expr, -1) {
				shown[series.ReplaceAllString(name, "")] = true
			}
		}
	}
	for _, name := range []string{"traposd_servers", "traposd_requests_seconds", "traposd_computers", "traposd_computer_requests_seconds", "traposd_sessions"} {
		if !shown[name] {
			t.Errorf("%s is not shown", name)
		}
	}
}

func TestAlertRules(t *testing.T) {
	data, err := os.ReadFile("../packaging/prometheus/traposd.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile("../packaging/doc/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	table, n := documentedMetrics(t), 0
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			n++
			checkExpression(t, rule.Alert, rule.Expr, table)
			if _, err := time.ParseDuration(rule.For); rule.For != "" && err != nil {
				t.Errorf("%s: %v", rule.Alert, err)
			}
			if rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
				t.Errorf("%s lacks a severity, a summary or a description", rule.Alert)
			}
			if !strings.Contains(string(document), "| `"+rule.Alert+"` |") {
				t.Errorf("%s is not in packaging/doc/operating.md", rule.Alert)
			}
		}
	}
	if rows := strings.Count(string(document), "\n| `Traposd"); rows != n {
		t.Errorf("%d rules, and %d in packaging/doc/operating.md", n, rows)
	}
}
