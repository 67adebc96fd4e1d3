package daemon

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/traposd/traposd/mcp"
)

const (
	maxLatencies  = 40         // per server, that a status shows
	maxToolSeries = 2000       // tools with a time series of their own; those beyond count as one named otherTools
	otherTools    = "(others)" // the label of what has no series of its own; no server, type or revision is called so
)

// calls counts what was passed to the servers. Server and tool names come from configured servers, and the number of series
// is bounded, so that nobody who calls us can grow them.
type calls struct {
	seconds *prometheus.HistogramVec

	mu        sync.Mutex
	latencies map[string][]float64   // by server ID: milliseconds of the last calls, oldest first
	tools     map[[2]string]struct{} // server and tool, of those with a series
}

func newCalls() *calls {
	return &calls{
		latencies: map[string][]float64{}, tools: map[[2]string]struct{}{},
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "traposd_requests_seconds",
			Help:    "Requests passed to servers, by server (empty: the computers), method, tool and outcome.",
			Buckets: latencyBuckets,
		}, []string{"server", "method", "tool", "outcome"}),
	}
}

// add is mcp.Options.Observe.
func (c *calls) add(o mcp.Observation) {
	c.mu.Lock()
	ring := append(c.latencies[o.ServerID], float64(o.Duration.Round(time.Microsecond))/float64(time.Millisecond))
	if len(ring) > maxLatencies {
		ring = append(ring[:0], ring[1:]...)
	}
	c.latencies[o.ServerID] = ring
	tool := o.Tool
	if at := [2]string{o.Server, tool}; tool != "" {
		if _, known := c.tools[at]; !known && len(c.tools) >= maxToolSeries {
			tool = otherTools
		} else if !known {
			c.tools[at] = struct{}{}
		}
	}
	c.mu.Unlock()
	c.seconds.WithLabelValues(o.Server, o.Method, tool, string(o.Outcome)).Observe(o.Duration.Seconds())
}

// last are the times of a server's last calls, in milliseconds, oldest first.
func (c *calls) last(serverID string) []float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]float64(nil), c.latencies[serverID]...)
}

// keepOnly drops the times of all other servers.
func (c *calls) keepOnly(serverIDs map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.latencies, func(id string, _ []float64) bool { return !serverIDs[id] })
}
