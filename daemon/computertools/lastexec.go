package computertools

import (
	"sync"
	"time"
)

// maxLastExecs bounds of how many computers it is known when they last ran code; the one that did longest ago is forgotten.
const maxLastExecs = 16384

// lastExecs remembers when computers last ran code that a client sent. Safe for concurrent use.
type lastExecs struct {
	mu sync.Mutex
	at map[target]time.Time
}

func (l *lastExecs) note(to target, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at == nil {
		l.at = map[target]time.Time{}
	}
	if _, known := l.at[to]; !known && len(l.at) >= maxLastExecs {
		var oldest target
		for other, at := range l.at {
			if first := l.at[oldest]; first.IsZero() || at.Before(first) {
				oldest = other
			}
		}
		delete(l.at, oldest)
	}
	l.at[to] = now
}

// LastExec is when a computer last answered an exec-lua of a client; zero if it has not since the start, or that is forgotten.
func (s *Server) LastExec(network, traposID string) time.Time {
	s.lastExecs.mu.Lock()
	defer s.lastExecs.mu.Unlock()
	return s.lastExecs.at[target{Computer: traposID, Network: network}]
}
