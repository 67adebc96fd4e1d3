package daemon

import (
	"os"

	"github.com/kardianos/service"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/windows/svc/eventlog"
)

const (
	// eventLogSource is the source that the installation registers (package daemon/service).
	eventLogSource = "traposd"

	// eventID is the one that a source made by eventlog.InstallAsEventCreate has texts for: 1 to 1000.
	eventID = 1

	// maxEventText is what one event can hold (ReportEvent: 31,839 characters).
	maxEventText = 31000
)

// streamID is empty: there is no journal to be connected to.
func streamID(os.FileInfo) string { return "" }

// systemLogCore writes to the event log if the service control manager started the process, which then has no stderr; else
// it is nil.
func systemLogCore(level zapcore.LevelEnabler) zapcore.Core {
	if service.Interactive() {
		return nil
	}
	log, err := eventlog.Open(eventLogSource)
	if err != nil {
		return nil // stderr is nowhere, but nothing better is left
	}
	return &eventLogCore{LevelEnabler: level, encoder: newEncoder(LogJSON), log: log}
}

// eventLogCore files each entry under its severity, as a line of JSON.
type eventLogCore struct {
	zapcore.LevelEnabler
	encoder zapcore.Encoder
	log     *eventlog.Log
}

func (c *eventLogCore) With(fields []zapcore.Field) zapcore.Core {
	child := *c
	child.encoder = c.encoder.Clone()
	for _, f := range fields {
		f.AddTo(child.encoder)
	}
	return &child
}

func (c *eventLogCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

func (c *eventLogCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	line, err := c.encoder.EncodeEntry(e, fields)
	if err != nil {
		return err
	}
	defer line.Free()
	text := string(line.Bytes()[:min(line.Len(), maxEventText)])
	switch {
	case e.Level >= zapcore.ErrorLevel:
		return c.log.Error(eventID, text)
	case e.Level == zapcore.WarnLevel:
		return c.log.Warning(eventID, text)
	}
	return c.log.Info(eventID, text)
}

func (c *eventLogCore) Sync() error { return nil }
