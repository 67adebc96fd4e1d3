package daemon

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are what Prometheus scrapes at /metrics. Label values come from closed sets (states, severities, outcomes) and
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

// newMetrics takes the report that is asked for at each scrape.
func newMetrics(status func() StatusReport, more ...prometheus.Collector) *metrics {
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
		m.reloads, statusCollector{status},
	)
	m.registry.MustRegister(more...)
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// statusCollector makes gauges of the status report.
type statusCollector struct{ status func() StatusReport }

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
	computersDesc = prometheus.NewDesc("traposd_computers",
		"Connected computers, by state.", []string{"state"}, nil)
	sessionsDesc = prometheus.NewDesc("traposd_sessions",
		"MCP sessions of clients.", nil, nil)
)

// Describe is part of prometheus.Collector.
func (statusCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{problemsDesc, lastGoodDesc, pendingDesc, serversDesc, restartsDesc, computersDesc, sessionsDesc} {
		out <- d
	}
}

// Collect is part of prometheus.Collector.
func (c statusCollector) Collect(out chan<- prometheus.Metric) {
	r := c.status()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	problems := map[string]int{"error": 0, "warning": 0}
	kept := map[[2]string]float64{} // the earliest, if an entry has several
	for _, p := range r.Problems {
		problems[p.Severity]++
		if at := [2]string{p.Path, p.Server}; p.KeptLastGood && p.Since != nil {
			since := float64(p.Since.UnixMilli()) / 1000
			if earlier, known := kept[at]; !known || since < earlier {
				kept[at] = since
			}
		}
	}
	for severity, n := range problems {
		gauge(problemsDesc, float64(n), severity)
	}
	for at, since := range kept {
		gauge(lastGoodDesc, since, at[0], at[1])
	}
	gauge(pendingDesc, float64(len(r.Pending)))
	states := map[string]int{}
	for _, s := range r.Servers {
		states[s.State]++
		out <- prometheus.MustNewConstMetric(restartsDesc, prometheus.CounterValue, float64(s.Restarts), s.Name, s.Source.Path)
	}
	for state, n := range states {
		gauge(serversDesc, float64(n), state)
	}
	computers := map[string]int{}
	for _, computer := range r.Computers {
		computers[computer.State]++
	}
	for state, n := range computers {
		gauge(computersDesc, float64(n), state)
	}
	gauge(sessionsDesc, float64(len(r.Sessions)))
}
