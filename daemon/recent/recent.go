// Package recent keeps the last log entries in memory, for a look at what happened without a log reader.
package recent

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"go.uber.org/zap/zapcore"
)

const (
	// Capacity is how many entries are kept.
	Capacity = 200

	maxText   = 500 // bytes of a message or of one field's text
	maxFields = 24  // of one entry
)

// Event is one log entry. Its texts may hold what others chose, names and messages of servers and computers: whoever shows
// one escapes it.
type Event struct {
	Seq     uint64         `json:"seq"` // 1, 2, 3 … since the start
	Time    time.Time      `json:"time"`
	Level   string         `json:"level"`
	Logger  string         `json:"logger,omitempty"`
	Message string         `json:"message"`
	Fields  map[string]any `json:"fields,omitempty"`
}

// subjects are the fields that say what an event is about and what is wrong. They come first, where a line that is cut
// still shows them.
var subjects = []string{"server", "network", "computer", "tool", "at", "field", "problem", "outcome", "err"}

// Text is the event in one line: its subjects, then its other fields by name, without those that are empty.
func (e Event) Text() string {
	var b strings.Builder
	b.WriteString(e.Message)
	add := func(key string) {
		if value, ok := e.Fields[key]; ok && value != "" {
			fmt.Fprintf(&b, " %s=%v", key, value)
		}
	}
	for _, key := range subjects {
		add(key)
	}
	for _, key := range slices.Sorted(maps.Keys(e.Fields)) {
		if !slices.Contains(subjects, key) {
			add(key)
		}
	}
	return b.String()
}

// Events is a zapcore.Core that remembers what is written at its level and above. It may be used from many goroutines.
type Events struct {
	zapcore.LevelEnabler
	with []zapcore.Field
	ring *ring
}

type ring struct {
	mu      sync.Mutex
	last    uint64  // sequence number
	entries []Event // at most Capacity, oldest first
}

// New returns an empty memory of what is logged at level and above.
func New(level zapcore.LevelEnabler) *Events {
	return &Events{LevelEnabler: level, ring: &ring{}}
}

// After returns the entries after that sequence number that are still known.
func (e *Events) After(seq uint64) []Event {
	e.ring.mu.Lock()
	defer e.ring.mu.Unlock()
	at, _ := slices.BinarySearchFunc(e.ring.entries, seq+1, func(entry Event, seq uint64) int {
		switch {
		case entry.Seq < seq:
			return -1
		case entry.Seq > seq:
			return 1
		}
		return 0
	})
	return slices.Clone(e.ring.entries[at:])
}

// With is part of zapcore.Core.
func (e *Events) With(fields []zapcore.Field) zapcore.Core {
	return &Events{LevelEnabler: e.LevelEnabler, with: slices.Concat(e.with, fields), ring: e.ring}
}

// Check is part of zapcore.Core.
func (e *Events) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if e.Enabled(entry.Level) {
		return checked.AddCore(entry, e)
	}
	return checked
}

// Write is part of zapcore.Core.
func (e *Events) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	event := Event{Time: entry.Time, Level: entry.Level.String(), Logger: entry.LoggerName, Message: short(entry.Message)}
	enc := zapcore.NewMapObjectEncoder()
	for i, field := range slices.Concat(e.with, fields) {
		if i == maxFields {
			break
		}
		field.AddTo(enc)
	}
	if len(enc.Fields) > 0 {
		event.Fields = enc.Fields
		for key, value := range enc.Fields {
			event.Fields[key] = plain(value)
		}
	}
	e.ring.add(event)
	return nil
}

// Sync is part of zapcore.Core.
func (e *Events) Sync() error { return nil }

func (r *ring) add(event Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	event.Seq = r.last
	if len(r.entries) == Capacity {
		r.entries = slices.Delete(r.entries, 0, 1)
	}
	r.entries = append(r.entries, event)
}

// plain is a field's value in a form that JSON can hold and that is bounded.
func plain(v any) any {
	switch v := v.(type) {
	case string:
		return short(v)
	case time.Duration:
		return v.String()
	case []any:
		list := make([]any, 0, min(len(v), maxFields))
		for _, e := range v[:min(len(v), maxFields)] {
			list = append(list, plain(e))
		}
		return list
	case bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, time.Time:
		return v
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) { // JSON has no such number
			return v
		}
	}
	return "…"
}

func short(s string) string {
	if len(s) <= maxText {
		return s
	}
	cut := maxText
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
