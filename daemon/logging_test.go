package daemon

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func TestJournaldLinesCarryTheirPriority(t *testing.T) {
	for level, prefix := range map[zapcore.Level]string{
		zapcore.DebugLevel: "<7>", zapcore.InfoLevel: "<6>", zapcore.WarnLevel: "<4>", zapcore.ErrorLevel: "<3>",
	} {
		var out bytes.Buffer
		newLogger(&out, zapcore.DebugLevel, LogJournald).With(zap.String("server", "a\nb")).Log(level, "said", zap.Int("n", 1))
		line, found := strings.CutPrefix(out.String(), prefix)
		if !found || strings.Count(line, "\n") != 1 {
			t.Errorf("%v: %q", level, out.String())
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		if fields["msg"] != "said" || fields["server"] != "a\nb" || fields["n"] != 1.0 {
			t.Errorf("%v: %v", level, fields)
		}
	}
}

// No name or message can steer the terminal that a log is read on, in any format, and JSON keeps its meaning.
func TestLogLinesAreInert(t *testing.T) {
	evil := "a\x1b[2J\u009b31m\x7f\u0085\u202e\u2066\u2028é世"
	for _, format := range []LogFormat{LogJSON, LogConsole, LogJournald} {
		var out bytes.Buffer
		newLogger(&out, zapcore.DebugLevel, format).Named(evil).With(zap.Strings("with", []string{evil})).Warn("said "+evil, zap.String(evil, evil))
		line := out.String()
		for _, r := range strings.TrimSuffix(line, "\n") {
			if !unicode.IsPrint(r) {
				t.Errorf("%s: %U in %q", format, r, line)
			}
		}
		if !strings.Contains(line, "é世") {
			t.Errorf("%s: %q", format, line)
		}
		if format != LogJSON {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal(out.Bytes(), &fields); err != nil || fields[evil] != evil || fields["msg"] != "said "+evil {
			t.Errorf("%v %v", fields, err)
		}
	}
}

func TestLevelHoldsInEveryFormat(t *testing.T) {
	for _, format := range []LogFormat{LogJSON, LogConsole, LogJournald} {
		var out bytes.Buffer
		log := newLogger(&out, zapcore.InfoLevel, format)
		log.Debug("quiet")
		log.Info("loud")
		if got := out.String(); strings.Contains(got, "quiet") || !strings.Contains(got, "loud") {
			t.Errorf("%s: %q", format, got)
		}
	}
}

func TestDetectFormat(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if got := detectFormat(file, ""); got != LogJSON {
		t.Errorf("a file: %s", got)
	}
	if id := streamID(info); id != "" {
		if got := detectFormat(file, id); got != LogJournald {
			t.Errorf("the journal's stream: %s", got)
		}
	}
	// The variable is inherited by everything below a service; it counts only for the stream that it names.
	if got := detectFormat(file, "1:1"); got != LogJSON {
		t.Errorf("another's stream: %s", got)
	}
}
