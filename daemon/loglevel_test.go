package daemon

import (
	"errors"
	"slices"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func TestChangeLogLevel(t *testing.T) {
	level := zap.NewAtomicLevelAt(zapcore.InfoLevel)
	core, logs := observer.New(level)
	d := New(testSettings(t), "test", zap.New(core))
	if _, err := d.changeLogLevel("debug"); err == nil {
		t.Error("a level was changed that nobody has given")
	}
	d.FollowLogLevel(level)
	named := d.log.Named("upstream") // what the rooms log by was made before the change
	for _, row := range []struct {
		ask, want string
		said      []string
	}{
		{"info", "info", []string{"i", "w"}},
		{"error", "error", []string{"the log level has changed"}},
		{"error", "error", nil},
		{"debug", "debug", []string{"the log level has changed", "d", "i", "w"}},
		{"warn", "warn", []string{"the log level has changed", "w"}},
	} {
		logs.TakeAll()
		report, err := d.changeLogLevel(row.ask)
		if err != nil || report.Level != row.want {
			t.Fatalf("%s: %+v %v", row.ask, report, err)
		}
		named.Debug("d")
		named.Info("i")
		named.Warn("w")
		var said []string
		for _, entry := range logs.TakeAll() {
			said = append(said, entry.Message)
		}
		if !slices.Equal(said, row.said) {
			t.Errorf("at %s: %q, want %q", row.ask, said, row.said)
		}
	}
	for _, wrong := range []string{"", "loud", "fatal", "dpanic"} {
		if _, err := d.changeLogLevel(wrong); !errors.Is(err, ErrUsage) || level.Level() != zapcore.WarnLevel {
			t.Errorf("%q: %v, and the level is %v", wrong, err, level)
		}
	}
}
