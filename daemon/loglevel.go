package daemon

import (
	"errors"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// LogLevelReport is from which level on the running service logs: debug, info, warn or error.
type LogLevelReport struct {
	Version int    `json:"version"`
	Level   string `json:"level"`
}

// logLevelRequest is the body of a change.
type logLevelRequest struct {
	Level string `json:"level"`
}

// ParseLogLevel reads a level as TRAPOS_LOG_LEVEL takes it.
func ParseLogLevel(text string) (zapcore.Level, error) {
	level, err := zapcore.ParseLevel(text)
	if err != nil || level > zapcore.ErrorLevel || text == "" {
		return 0, failf(ErrUsage, "the level must be debug, info, warn or error")
	}
	return level, nil
}

// FollowLogLevel has the level of the log that New was given be changed while the service runs. Call it before Run.
func (d *Daemon) FollowLogLevel(level zap.AtomicLevel) { d.logLevel = &level }

// logLevelReport says the level now.
func (d *Daemon) logLevelReport() (LogLevelReport, error) {
	if d.logLevel == nil {
		return LogLevelReport{}, errors.New("the log of this service has no level that can be seen or changed")
	}
	return LogLevelReport{Version: reportVersion, Level: d.logLevel.Level().String()}, nil
}

// changeLogLevel sets the level until the end of the process, and logs that where the more talkative of the two shows it.
func (d *Daemon) changeLogLevel(text string) (LogLevelReport, error) {
	level, err := ParseLogLevel(text)
	if err != nil {
		return LogLevelReport{}, err
	}
	before, err := d.logLevelReport()
	if err != nil || before.Level == level.String() {
		return before, err
	}
	tell := func() {
		d.log.Info("the log level has changed", zap.String("from", before.Level), zap.Stringer("to", level))
	}
	if level > d.logLevel.Level() {
		tell()
		d.logLevel.SetLevel(level)
	} else {
		d.logLevel.SetLevel(level)
		tell()
	}
	return d.logLevelReport()
}
