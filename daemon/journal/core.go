package journal

import (
	"errors"
	"io"
	"strconv"
	"time"

	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"
)

// socketPath is where journald takes native messages (systemd-journald.service(8)).
const socketPath = "/run/systemd/journal/socket"

// flushTimeout bounds how long Sync waits for a journald that takes nothing.
const flushTimeout = 2 * time.Second

// Event is how a kind of message can be found: EVENT=name, and MESSAGE_ID= (128 bits in hexadecimal).
type Event struct{ Name, ID string }

// Options configure a Core.
type Options struct {
	Level      zapcore.LevelEnabler
	Socket     string           // a path; journald's own if empty
	Identifier string           // SYSLOG_IDENTIFIER: what journalctl shows as the program
	Events     map[string]Event // by message
	Encoder    zapcore.Encoder  // of lines for Fallback
	Fallback   io.Writer        // where entries go that journald is not there to take
}

// Core is the zap core. See the package's comment.
type Core struct {
	zapcore.LevelEnabler
	opts  Options
	with  []zapcore.Field
	queue *queue
}

// New opens a socket to journald. It fails where there is none, or no such thing.
func New(o Options) (*Core, error) {
	if o.Socket == "" {
		o.Socket = socketPath
	}
	s, err := newSender(o.Socket)
	if err != nil {
		return nil, err
	}
	return &Core{LevelEnabler: o.Level, opts: o, queue: newQueue(s, o.Fallback)}, nil
}

// With returns a Core that adds fields to every entry.
func (c *Core) With(fields []zapcore.Field) zapcore.Core {
	child := *c
	child.with = append(c.with[:len(c.with):len(c.with)], fields...)
	if c.opts.Encoder != nil {
		child.opts.Encoder = c.opts.Encoder.Clone()
		for _, f := range fields {
			f.AddTo(child.opts.Encoder)
		}
	}
	return &child
}

// Check adds the Core to ce if the entry's level is enabled.
func (c *Core) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

// Write hands an entry over. It does not fail.
func (c *Core) Write(e zapcore.Entry, fields []zapcore.Field) error {
	flat := flatten(c.with, fields)
	var m entry
	m.add("MESSAGE", message(e.Message, flat))
	m.add("PRIORITY", strconv.Itoa(Priority(e.Level)))
	m.add("SYSLOG_IDENTIFIER", c.opts.Identifier)
	if event, known := c.opts.Events[e.Message]; known {
		m.add("EVENT", event.Name)
		m.add("MESSAGE_ID", event.ID)
	}
	if e.LoggerName != "" {
		m.add("LOGGER", e.LoggerName)
	}
	if e.Caller.Defined {
		m.add("CODE_FILE", e.Caller.File)
		m.add("CODE_LINE", strconv.Itoa(e.Caller.Line))
		m.add("CODE_FUNC", e.Caller.Function)
	}
	for _, f := range flat {
		m.add(fieldName(f.key), f.value)
	}
	c.queue.put(m.data, func() ([]byte, error) { return c.line(e, fields) })
	if e.Level > zapcore.ErrorLevel { // the process may be about to end
		_ = c.Sync()
	}
	return nil
}

// line is the entry for the fallback.
func (c *Core) line(e zapcore.Entry, fields []zapcore.Field) ([]byte, error) {
	if c.opts.Encoder == nil {
		return nil, nil
	}
	var buf *buffer.Buffer
	buf, err := c.opts.Encoder.EncodeEntry(e, fields)
	if err != nil {
		return nil, err
	}
	defer buf.Free()
	return append([]byte(nil), buf.Bytes()...), nil
}

// Sync waits until journald has everything, at most for flushTimeout.
func (c *Core) Sync() error { return c.queue.flush(flushTimeout) }

// Priority is the syslog severity (RFC 5424, section 6.2.1) of a level.
func Priority(level zapcore.Level) int {
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

// Close flushes and closes the socket. Entries that are written afterwards go to the fallback.
func (c *Core) Close() error {
	return errors.Join(c.Sync(), c.queue.to.close())
}
