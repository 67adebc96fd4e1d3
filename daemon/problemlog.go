package daemon

import (
	"time"

	"github.com/traposd/traposd/mcpconfig"
)

// problemLog remembers since when each problem has stood. Only the reloader uses it.
type problemLog struct {
	since map[string]time.Time
	now   func() time.Time
}

// note takes the problems that stand now; it returns those that are new and those that were mended.
func (l *problemLog) note(before, now mcpconfig.Problems) (fresh, mended mcpconfig.Problems) {
	next := make(map[string]time.Time, len(now))
	for _, p := range now {
		since, known := l.since[p.String()]
		if !known {
			since = l.now()
			fresh = append(fresh, p)
		}
		next[p.String()] = since
	}
	for _, p := range before {
		if _, still := next[p.String()]; !still {
			mended = append(mended, p)
		}
	}
	l.since = next
	return fresh, mended
}
