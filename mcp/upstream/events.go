package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// event is one event of a text/event-stream (HTML Living Standard, section 9.2).
type event struct {
	name  string // empty: "message"
	id    string
	data  []byte
	retry time.Duration // 0: not given
}

// errEventTooLong ends a stream: what follows could not be told apart from the event that was cut.
var errEventTooLong = errors.New("an event is above the size limit")

// readEvents calls handle for every event until the stream ends, which is no error, or breaks.
func readEvents(r io.Reader, handle func(event)) error {
	lines := newLineReader(r, maxMessageBytes)
	var (
		e     event
		some  bool
		first = true
	)
	for {
		line, cut, err := lines.next()
		if cut {
			return fmt.Errorf("%w of %d bytes", errEventTooLong, maxMessageBytes)
		}
		if first {
			line, first = bytes.TrimPrefix(line, []byte("\ufeff")), false
		}
		if len(line) == 0 && err == nil {
			if some {
				handle(e)
			}
			e, some = event{}, false
			continue
		}
		if len(line) > 0 && e.take(line) {
			some = true
		}
		if len(e.data) > maxMessageBytes {
			return fmt.Errorf("%w of %d bytes", errEventTooLong, maxMessageBytes)
		}
		if errors.Is(err, io.EOF) {
			return nil // an event without its blank line is not one
		}
		if err != nil {
			return err
		}
	}
}

// take adds one line; false if it is a comment.
func (e *event) take(line []byte) bool {
	if line[0] == ':' {
		return false
	}
	field, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(field) {
	case "event":
		e.name = string(value)
	case "data":
		if e.data == nil {
			e.data = value
		} else {
			e.data = append(append(e.data, '\n'), value...)
		}
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			e.id = string(value)
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			e.retry = time.Duration(ms) * time.Millisecond
		}
	default:
		return false
	}
	return true
}
