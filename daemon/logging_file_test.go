package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap/zapcore"
)

func TestLogFileBeginsAnewWhenItIsFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "t.log")
	l, err := openLogFile(path, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"one\n", "two\n", "three\n", "longer than a whole file\n", "4\n", "five5\n", "six666\n", "seven7\n", "eight8\n"} {
		if _, err := l.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	for suffix, want := range map[string]string{
		"": "eight8\n", ".1": "seven7\n", ".2": "six666\n", ".3": "4\nfive5\n", ".4": "longer than a whole file\n", ".5": "three\n",
	} {
		if data, err := os.ReadFile(path + suffix); err != nil || string(data) != want {
			t.Errorf("%s: %q %v", suffix, data, err)
		}
	}
	if _, err := os.Stat(path + ".6"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := errors.Join(l.Sync(), l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	if _, err := l.Write([]byte("x")); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
	again, err := openLogFile(path, 10) // it goes on where it was
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Write([]byte("9\n")); err != nil {
		t.Error(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "eight8\n9\n" {
		t.Errorf("%q %v", data, err)
	}
}

func TestLogToAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.log")
	log, end, err := OpenLogger(Settings{LogFile: path, LogFormat: LogAuto}, zapcore.InfoLevel)
	if err != nil {
		t.Fatal(err)
	}
	log.Info("said")
	end()
	if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), `"msg":"said"`) {
		t.Errorf("%s %v", data, err)
	}
	if _, _, err := OpenLogger(Settings{LogFile: filepath.Join(path, "below")}, zapcore.InfoLevel); !errors.Is(err, ErrSettings) {
		t.Error(err)
	}
}
