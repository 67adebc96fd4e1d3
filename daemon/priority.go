package daemon

import (
	"strconv"

	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"
)

// priorityEncoder puts the <N> prefix of sd-daemon(3) before each line, which journald strips and keeps as PRIORITY:
// plain JSON is always filed as informational (measured).
type priorityEncoder struct{ zapcore.Encoder }

func (e priorityEncoder) Clone() zapcore.Encoder { return priorityEncoder{e.Encoder.Clone()} }

func (e priorityEncoder) EncodeEntry(entry zapcore.Entry, fields []zapcore.Field) (*buffer.Buffer, error) {
	line, err := e.Encoder.EncodeEntry(entry, fields)
	if err != nil {
		return nil, err
	}
	out := lines.Get()
	out.AppendByte('<')
	out.AppendString(strconv.Itoa(priority(entry.Level)))
	out.AppendByte('>')
	_, _ = out.Write(line.Bytes()) // a Buffer's Write does not fail
	line.Free()
	return out, nil
}

var lines = buffer.NewPool()

// priority is the syslog severity (RFC 5424, section 6.2.1) of a level.
func priority(level zapcore.Level) int {
	switch {
	case level >= zapcore.DPanicLevel:
		return 2
	case level == zapcore.ErrorLevel:
		return 3
	case level == zapcore.WarnLevel:
		return 4
	case level == zapcore.DebugLevel:
		return 7
	}
	return 6
}
