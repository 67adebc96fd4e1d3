package daemon

import (
	"io"
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/traposd/traposd/daemon/journal"
	"github.com/traposd/traposd/mcpconfig"
)

// LogFormat is how log lines are written.
type LogFormat string

// The formats of TRAPOS_LOG_FORMAT. LogAuto is journald's native protocol if stderr is the journal (LogJournald if that
// cannot be spoken), LogConsole if it is a terminal, and LogJSON otherwise.
const (
	LogAuto     LogFormat = "auto"
	LogJournald LogFormat = "journald" // JSON behind the <N> priority prefix of sd-daemon(3)
	LogJSON     LogFormat = "json"
	LogConsole  LogFormat = "console"
)

func (f LogFormat) valid() bool {
	return f == LogAuto || f == LogJournald || f == LogJSON || f == LogConsole
}

// NewLogger writes to stderr in the given format, from the given level on.
func NewLogger(level zapcore.LevelEnabler, format LogFormat) *zap.Logger {
	if format == LogAuto {
		if core := systemLogCore(level); core != nil {
			return zap.New(core)
		}
		format = detectFormat(os.Stderr, os.Getenv("JOURNAL_STREAM"))
		if format == LogJournald {
			if core, err := newJournalCore(os.Stderr, level, ""); err == nil {
				return journalLogger(core, level)
			}
		}
	}
	return newLogger(os.Stderr, level, format)
}

// newJournalCore writes to journald's socket (empty: the system's), and to w while there is no journald.
func newJournalCore(w io.Writer, level zapcore.LevelEnabler, socket string) (zapcore.Core, error) {
	return journal.New(journal.Options{
		Level: level, Socket: socket, Identifier: "traposd", Events: journalEvents,
		Encoder: newEncoder(LogJournald), Fallback: w,
	})
}

// journalLogger says where in the code an entry comes from when somebody is looking for a fault.
func journalLogger(core zapcore.Core, level zapcore.LevelEnabler) *zap.Logger {
	return zap.New(core, zap.WithCaller(level.Enabled(zapcore.DebugLevel)))
}

func newLogger(w io.Writer, level zapcore.LevelEnabler, format LogFormat) *zap.Logger {
	out := zapcore.Lock(zapcore.AddSync(w))
	return zap.New(zapcore.NewCore(newEncoder(format), out, level), zap.ErrorOutput(out))
}

// newEncoder makes the lines of a format that is not LogAuto.
func newEncoder(format LogFormat) zapcore.Encoder {
	cfg := zap.NewProductionEncoderConfig()
	cfg.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	cfg.EncodeDuration = zapcore.StringDurationEncoder
	cfg.TimeKey, cfg.MessageKey, cfg.StacktraceKey, cfg.CallerKey = "time", "msg", "", ""
	var enc zapcore.Encoder
	switch format {
	case LogConsole:
		cfg.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		cfg.EncodeLevel = zapcore.CapitalLevelEncoder
		cfg.ConsoleSeparator = " "
		enc = zapcore.NewConsoleEncoder(cfg)
	case LogJournald:
		// The journal stamps the time and keeps the level as PRIORITY; both in the text would only repeat it.
		cfg.TimeKey, cfg.LevelKey = "", ""
		enc = zapcore.NewJSONEncoder(cfg)
	default:
		enc = zapcore.NewJSONEncoder(cfg)
	}
	enc = plainEncoder{enc}
	if format == LogJournald {
		enc = priorityEncoder{enc}
	}
	return enc
}

// detectFormat looks at what stderr is. systemd sets JOURNAL_STREAM to the device and inode of the stream that it
// connected (systemd.exec(5)); the variable is inherited, so it counts only if stderr is that very stream.
func detectFormat(stderr *os.File, journalStream string) LogFormat {
	info, err := stderr.Stat()
	if err != nil {
		return LogJSON
	}
	if journalStream != "" && journalStream == streamID(info) {
		return LogJournald
	}
	if info.Mode()&os.ModeCharDevice != 0 && info.Name() != os.DevNull {
		return LogConsole
	}
	return LogJSON
}

// problemLevel is the level that a configuration problem is logged at.
func problemLevel(p mcpconfig.Problem) zapcore.Level {
	if p.Severity == mcpconfig.SeverityError {
		return zapcore.ErrorLevel
	}
	return zapcore.WarnLevel
}
