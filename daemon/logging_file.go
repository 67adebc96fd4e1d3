package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Bounds of a log file: with the older ones it takes 60 MiB at most.
const (
	maxLogFileBytes = 10 << 20
	keptLogFiles    = 5
)

// OpenLogger makes the logger that the settings ask for, from level on; end closes it. It is NewLogger's unless they name a
// file.
func OpenLogger(s Settings, level zapcore.LevelEnabler) (log *zap.Logger, end func(), err error) {
	if s.LogFile == "" {
		log = NewLogger(level, s.LogFormat)
		return log, func() { _ = log.Sync() }, nil // a terminal or pipe cannot be synced, and says so
	}
	file, err := openLogFile(s.LogFile, maxLogFileBytes)
	if err != nil {
		return nil, nil, failf(ErrSettings, "TRAPOS_LOG_FILE names a file that cannot be written: %v", err)
	}
	format := s.LogFormat
	if format == LogAuto {
		format = LogJSON
	}
	return newLogger(file, level, format), func() { _ = file.Close() }, nil
}

// logFile is a log on disk that begins anew when it is full; the older ones are NAME.1 (the newest) and so on. Readable by
// its owner alone. Safe for concurrent use.
type logFile struct {
	path string
	max  int64

	mu   sync.Mutex
	file *os.File // nil after Close, or while it cannot be opened
	size int64
}

func openLogFile(path string, limit int64) (*logFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	l := &logFile{path: path, max: limit}
	return l, l.open()
}

func (l *logFile) open() error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Write writes one entry, to a new file if the current one would be too large.
func (l *logFile) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return 0, fs.ErrClosed
	}
	if l.size > 0 && l.size+int64(len(line)) > l.max {
		if err := l.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(line)
	l.size += int64(n)
	return n, err
}

// rotate moves the files on by one and begins a new one. What cannot be moved is written on: a full log is better than none.
func (l *logFile) rotate() error {
	for n := keptLogFiles - 1; n >= 1; n-- {
		if err := os.Rename(l.older(n), l.older(n+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.size = 0
			return nil
		}
	}
	closeErr := l.file.Close() // Windows moves no open file
	l.file = nil
	renameErr := os.Rename(l.path, l.older(1))
	if err := l.open(); err != nil {
		return fmt.Errorf("the log file: %w", errors.Join(closeErr, renameErr, err))
	}
	if renameErr != nil {
		l.size = 0
	}
	return nil
}

func (l *logFile) older(n int) string { return l.path + "." + strconv.Itoa(n) }

// Sync brings what was written to the disk.
func (l *logFile) Sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	return l.file.Sync()
}

// Close closes the file. What is written afterwards is lost.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
