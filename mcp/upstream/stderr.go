package upstream

import (
	"bytes"
	"io"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Bounds on what of a server's stderr is passed on to our log; the tail keeps the end of everything.
const (
	loggedLineBytes     = 1 << 10
	loggedLinesPerTick  = 50
	loggedTick          = time.Second
	loggedLinesInFlight = 64
)

// drainStderr reads a server's stderr until it ends, whatever is in it, and passes lines on at debug level. It never
// waits for the log: a server must not stand still because a disk does.
func drainStderr(r io.Reader, t *tail, log *zap.Logger) {
	if !log.Core().Enabled(zapcore.DebugLevel) {
		buf := make([]byte, 8<<10)
		for {
			n, err := r.Read(buf)
			t.write(buf[:n])
			if err != nil {
				return
			}
		}
	}
	f := forwarder{log: log, mask: t.mask, lines: make(chan string, loggedLinesInFlight)}
	var wg sync.WaitGroup
	wg.Go(f.run)
	defer wg.Wait()
	defer close(f.lines)
	buf := make([]byte, 8<<10)
	for {
		n, err := r.Read(buf)
		t.write(buf[:n])
		f.add(buf[:n])
		if err != nil {
			f.add([]byte{'\n'})
			return
		}
	}
}

// forwarder passes lines to the log, at a bounded rate.
type forwarder struct {
	log     *zap.Logger
	mask    *masker
	lines   chan string
	partial []byte // the line that is not complete yet, at most loggedLineBytes of it
	window  time.Time
	count   int
}

func (f *forwarder) add(data []byte) {
	for len(data) > 0 {
		line, rest, complete := bytes.Cut(data, []byte{'\n'})
		f.partial = append(f.partial, line[:min(len(line), loggedLineBytes-len(f.partial))]...)
		if complete {
			f.emit()
		}
		data = rest
	}
}

func (f *forwarder) emit() {
	line := printable(f.mask.applyCut(string(f.partial), false, len(f.partial) == loggedLineBytes))
	f.partial = f.partial[:0]
	if line == "" {
		return
	}
	if now := time.Now(); now.Sub(f.window) > loggedTick {
		f.window, f.count = now, 0
	}
	if f.count++; f.count > loggedLinesPerTick {
		return
	}
	select {
	case f.lines <- line:
	default:
	}
}

func (f *forwarder) run() {
	for line := range f.lines {
		f.log.Debug("the server says on stderr", zap.String("line", line))
	}
}
