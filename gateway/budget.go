package gateway

import "time"

// budget is a token bucket for what a computer sends unasked. Only the connection's reader uses it.
type budget struct {
	tokens float64
	last   time.Time
}

// take spends one token and returns how long to wait until there was one to spend.
func (b *budget) take(now time.Time) time.Duration {
	if b.last.IsZero() {
		b.tokens = unsolicitedBurst
	} else {
		b.tokens = min(unsolicitedBurst, b.tokens+now.Sub(b.last).Seconds()*unsolicitedPerSecond)
	}
	b.last = now
	b.tokens--
	if b.tokens >= 0 {
		return 0
	}
	return time.Duration(-b.tokens / unsolicitedPerSecond * float64(time.Second))
}
