package daemon

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/traposd/traposd/gateway"
	"github.com/traposd/traposd/mcp"
)

// metrics are what Prometheus scrapes at /metrics; packaging/doc/operating.md lists them. Label values come from closed sets (states, severities, outcomes) and
// from the names of configured servers, so that nobody who calls us can grow them.
type metrics struct {
	registry *prometheus.Registry
	reloads  *prometheus.CounterVec
}

// Outcomes of a reload.
const (
	reloadApplied   = "applied"   // the running set changed
	reloadUnchanged = "unchanged" // it did not, whatever was saved
)

// latencyBuckets are those of all histograms, in seconds: from a call within the machine to the longest that one may take.
var latencyBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

// scrape is what the gauges are made of. It is no StatusReport: with thousands of computers, one entry for each would be
// made for nothing at every scrape.
type scrape struct {
	servers  ServersReport
	pending  int
	sessions map[string]int // by revision
	gateway  *gateway.Stats // nil: off
}

// scrape takes the figures of this moment.
func (d *Daemon) scrape() scrape {
	now := d.reloader.current()
	s := scrape{servers: serversReport(now, d.reconciler.Status()), pending: len(now.pending), sessions: map[string]int{}}
	for _, session := range d.listener.Sessions() {
		s.sessions[session.Revision]++
	}
	if d.gateway != nil {
		stats := d.gateway.Stats()
		s.gateway = &stats
	}
	return s
}

// newMetrics takes what is asked for at each scrape.
func newMetrics(version string, now func() scrape, more ...prometheus.Collector) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "traposd_config_reloads_total", Help: "Readings of the configuration files, by outcome.",
		}, []string{"outcome"}),
	}
	for _, outcome := range []string{reloadApplied, reloadUnchanged} {
		m.reloads.WithLabelValues(outcome)
	}
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.reloads, scrapeCollector{now}, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "traposd_build_info", Help: "1, with the version of the program as a label.", ConstLabels: prometheus.Labels{"version": version},
		}, func() float64 { return 1 }),
	)
	m.registry.MustRegister(more...)
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// scrapeCollector makes metrics of a scrape.
type scrapeCollector struct{ now func() scrape }

var (
	problemsDesc = prometheus.NewDesc("traposd_config_problems",
		"Problems of the configuration files that stand now, by severity.", []string{"severity"}, nil)
	lastGoodDesc = prometheus.NewDesc("traposd_config_last_good_since_timestamp_seconds",
		"Since when the last good version is kept in place of a broken one; server is empty for a whole file.", []string{"path", "server"}, nil)
	pendingDesc = prometheus.NewDesc("traposd_config_pending_entries",
		"Entries that wait for approval.", nil, nil)
	serversDesc = prometheus.NewDesc("traposd_servers",
		"Configured servers, by state.", []string{"state"}, nil)
	restartsDesc = prometheus.NewDesc("traposd_server_restarts_total",
		"Starts of a server after a failure.", []string{"server", "path"}, nil)
	sessionsDesc = prometheus.NewDesc("traposd_sessions",
		"MCP sessions of clients, and subscriptions of those that have none, by revision of the protocol.", []string{"revision"}, nil)
)

// serverStates and sessionRevisions have a series at zero, too: an expression over them is never empty.
var (
	serverStates     = []string{"off", "starting", "ready", "degraded", "backing-off", "stopping", "invalid", "pending", "needs-login"}
	sessionRevisions = []string{mcp.Revision20241105, mcp.Revision20250326, mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728}
)

// Describe is part of prometheus.Collector.
func (scrapeCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{problemsDesc, lastGoodDesc, pendingDesc, serversDesc, restartsDesc, sessionsDesc} {
		out <- d
	}
	describeGateway(out)
}

// Collect is part of prometheus.Collector.
func (c scrapeCollector) Collect(out chan<- prometheus.Metric) {
	r := c.now()
	collectProblems(r.servers.Problems, out)
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(pendingDesc, float64(r.pending))
	states := zeroes(serverStates)
	for _, s := range r.servers.Servers {
		states[s.State]++
		out <- prometheus.MustNewConstMetric(restartsDesc, prometheus.CounterValue, float64(s.Restarts), s.Name, s.Source.Path)
	}
	for state, n := range states {
		gauge(serversDesc, float64(n), state)
	}
	sessions := zeroes(sessionRevisions)
	for revision, n := range r.sessions {
		if _, known := sessions[revision]; !known {
			revision = otherTools
		}
		sessions[revision] += n
	}
	for revision, n := range sessions {
		gauge(sessionsDesc, float64(n), revision)
	}
	if r.gateway != nil {
		collectGateway(*r.gateway, out)
	}
}

func zeroes(keys []string) map[string]int {
	m := make(map[string]int, len(keys))
	for _, key := range keys {
		m[key] = 0
	}
	return m
}

func collectProblems(standing []ProblemReport, out chan<- prometheus.Metric) {
	problems := zeroes([]string{"error", "warning"})
	kept := map[[2]string]float64{} // the earliest, if an entry has several
	for _, p := range standing {
		problems[p.Severity]++
		if at := [2]string{p.Path, p.Server}; p.KeptLastGood && p.Since != nil {
			since := float64(p.Since.UnixMilli()) / 1000
			if earlier, known := kept[at]; !known || since < earlier {
				kept[at] = since
			}
		}
	}
	for severity, n := range problems {
		out <- prometheus.MustNewConstMetric(problemsDesc, prometheus.GaugeValue, float64(n), severity)
	}
	for at, since := range kept {
		out <- prometheus.MustNewConstMetric(lastGoodDesc, prometheus.GaugeValue, since, at[0], at[1])
	}
}
