package daemon

import (
	"strconv"

	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"

	"github.com/traposd/traposd/daemon/journal"
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
	out.AppendString(strconv.Itoa(journal.Priority(entry.Level)))
	out.AppendByte('>')
	_, _ = out.Write(line.Bytes()) // a Buffer's Write does not fail
	line.Free()
	return out, nil
}

var lines = buffer.NewPool()
