package daemon

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/traposd/traposd/gateway"
)

// computerRequests counts what computers were asked. Programs on them may serve types of their own, which clients and other
// computers name: those count as one, so that nobody who calls us can grow the number of series.
type computerRequests struct{ seconds *prometheus.HistogramVec }

// knownRequests are the types of request that the computer programs of this repository serve; see gateway/PROTOCOL.md.
var knownRequests = map[string]bool{
	"ping": true, "exec-lua": true, "computer-info": true, "reboot-computer": true,
	"read-screen": true, "send-keys": true, "send-event": true,
	"list-files": true, "read-file": true, "write-file": true, "edit-file": true, "move-file": true, "delete-file": true,
}

func newComputerRequests() *computerRequests {
	return &computerRequests{prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "traposd_computer_requests_seconds",
		Help:    "Requests to computers, by type and outcome; types that programs of their own serve are (others).",
		Buckets: latencyBuckets,
	}, []string{"type", "outcome"})}
}

// add is gateway.Options.Observe.
func (c *computerRequests) add(o gateway.Observation) {
	kind := o.Type
	if !knownRequests[kind] {
		kind = otherTools
	}
	c.seconds.WithLabelValues(kind, string(o.Outcome)).Observe(o.Duration.Seconds())
}

var (
	framesDesc = prometheus.NewDesc("traposd_gateway_frames_total",
		"WebSocket messages of computers, by direction.", []string{"direction"}, nil)
	bytesDesc = prometheus.NewDesc("traposd_gateway_bytes_total",
		"Bytes of those messages, by direction.", []string{"direction"}, nil)
	refusedDesc = prometheus.NewDesc("traposd_gateway_refused_total",
		"Computers that were not let in, by the code that they were told.", []string{"code"}, nil)
	computersDesc = prometheus.NewDesc("traposd_computers",
		"Connected computers, by state.", []string{"state"}, nil)
)

// alwaysRefused are the codes that have a series from the start, so that an alert sees the first one as an increase.
var alwaysRefused = []gateway.Code{
	gateway.CodeUnauthorized, gateway.CodeBadRequest, gateway.CodeUnsupportedProtocol, gateway.CodeDuplicate,
	gateway.CodeBusy, gateway.CodeTimeout, gateway.CodeTooLarge,
}

func describeGateway(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{framesDesc, bytesDesc, refusedDesc, computersDesc} {
		out <- d
	}
}

func collectGateway(s gateway.Stats, out chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, value uint64, label string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), label)
	}
	counter(framesDesc, s.FramesReceived, "received")
	counter(framesDesc, s.FramesSent, "sent")
	counter(bytesDesc, s.BytesReceived, "received")
	counter(bytesDesc, s.BytesSent, "sent")
	refused := make(map[gateway.Code]uint64, len(alwaysRefused))
	for _, code := range alwaysRefused {
		refused[code] = 0
	}
	for code, n := range s.Refused {
		refused[code] = n
	}
	for code, n := range refused {
		counter(refusedDesc, n, string(code))
	}
	for _, state := range []gateway.State{gateway.StateReady, gateway.StateUnresponsive} {
		out <- prometheus.MustNewConstMetric(computersDesc, prometheus.GaugeValue, float64(s.Computers[state]), string(state))
	}
}
