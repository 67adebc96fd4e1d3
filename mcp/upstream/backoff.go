package upstream

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pauses between two attempts to open a stream that only carries notifications. They stay below 15 attempts in ten
// minutes against a server that closes at once: 5, 10, 20, 40, then 60 s.
const (
	streamPauseMin = 5 * time.Second
	streamPauseMax = 60 * time.Second
)

// backoff gives growing pauses: min, twice that, and so on up to max, each lengthened by up to a tenth so that many
// servers that failed together do not come back together. Not safe for concurrent use.
type backoff struct {
	min, max time.Duration
	current  time.Duration
}

func (b *backoff) next() time.Duration {
	if b.current == 0 {
		b.current = b.min
	} else {
		b.current = min(2*b.current, b.max)
	}
	return b.current + rand.N(b.current/10+1)
}

func (b *backoff) reset() { b.current = 0 }

// sleep waits for d; false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
