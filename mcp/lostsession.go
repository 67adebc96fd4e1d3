package mcp

import (
	"net/http"
	"time"

	"go.uber.org/zap"
)

// lostInterval is the least time between two log lines about lost sessions: a client that does not understand repeats itself.
const lostInterval = time.Minute

// noteLostSession logs that a client goes on with a session that is not there any more. Most connect again by themselves at
// the 404; one that does not is a client whose user sees nothing work.
func (l *Listener) noteLostSession(r *http.Request) {
	now := time.Now().Unix()
	last := l.lostNoted.Load()
	if now-last < int64(lostInterval/time.Second) || !l.lostNoted.CompareAndSwap(last, now) {
		return
	}
	l.logger.Warn("a client sends a session that is gone; let it connect again", zap.String("agent", quoteShort(r.UserAgent())))
}
