package journal

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func TestFieldNames(t *testing.T) {
	for key, want := range map[string]string{
		"server": "SERVER", "kept_last_good": "KEPT_LAST_GOOD", "retry-after": "RETRY_AFTER", "err": "ERR",
		"message": "FIELD_MESSAGE", "priority": "FIELD_PRIORITY", "code_file": "FIELD_CODE_FILE", "event": "FIELD_EVENT",
		"_pid": "FIELD_PID", "9th": "FIELD_9TH", "": "FIELD_", "ü": "FIELD_", "a.b": "A_B",
		strings.Repeat("x", 70): strings.Repeat("X", 64),
	} {
		if got := fieldName(key); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
}

func TestMessage(t *testing.T) {
	fields := flatten([]zapcore.Field{zap.String("server", "a b"), zap.Int("n", 3)}, []zapcore.Field{
		zap.Duration("took", 1500*time.Millisecond), zap.Strings("added", []string{"x", "y"}), zap.Error(errors.New("no\nway")),
		zap.Bool("changed", true), zap.String("empty", ""), zap.String("long", strings.Repeat("ä", 200)), zap.String("evil", "\u202e\x1b[2J"),
		zap.Float64("share", 0.5), zap.Binary("raw", []byte("\x00\xff")), zap.Time("at", time.Unix(0, 0).UTC()), zap.Int("n", 4),
	})
	want := `listening added="[\"x\",\"y\"]" at=1970-01-01T00:00:00Z changed=true empty="" error="no\nway" evil="\u202e\x1b[2J" long=` +
		strings.Repeat("ä", 100) + `… n=4 raw="\x00\xff" server="a b" share=0.5 took=1.5s`
	if got := message("listening", fields); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestPriority(t *testing.T) {
	for level, want := range map[zapcore.Level]int{zap.DebugLevel: 7, zap.InfoLevel: 6, zap.WarnLevel: 4, zap.ErrorLevel: 3, zap.DPanicLevel: 2, zap.FatalLevel: 2} {
		if got := Priority(level); got != want {
			t.Errorf("%v: %d", level, got)
		}
	}
}
