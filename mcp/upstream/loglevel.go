package upstream

import (
	"context"

	"go.uber.org/zap"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
)

// adoptLogLevel tells the server what clients want to have logged: they said so before it was there, or to the instance
// before it. It does not wait.
func (s *session) adoptLogLevel() {
	level, ok := s.logs()
	if !ok || !s.agreed().can("logging") {
		return
	}
	req := mcp.Request{Method: "logging/setLevel", Params: wire.Set(nil, "level", wire.Quote(level))}
	if _, done := s.bridge(req); done {
		return
	}
	s.later(func() {
		ctx, cancel := context.WithTimeout(s.ended, sendLimit)
		defer cancel()
		if _, err := s.call(ctx, req, sendLimit); err != nil {
			s.log.Debug("the server does not take the log level", zap.String("err", describe(err)))
		}
	})
}

func (w *worker) adoptLogLevel() {
	w.mu.Lock()
	live := w.live
	w.mu.Unlock()
	if live != nil {
		live.session.adoptLogLevel()
	}
}
