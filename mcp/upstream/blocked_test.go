package upstream

import "go.uber.org/zap/zapcore"

// blocked is a log whose disk does not answer until release is closed.
type blocked struct{ release <-chan struct{} }

func (b blocked) Enabled(zapcore.Level) bool        { return true }
func (b blocked) With([]zapcore.Field) zapcore.Core { return b }
func (b blocked) Sync() error                       { return nil }
func (b blocked) Write(zapcore.Entry, []zapcore.Field) error {
	<-b.release
	return nil
}

func (b blocked) Check(e zapcore.Entry, c *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	return c.AddCore(e, b)
}
