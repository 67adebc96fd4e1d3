package journal

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.uber.org/zap/zapcore"
)

const (
	maxFieldName = 64  // journald drops fields with longer names
	maxShown     = 200 // bytes of one value in MESSAGE; the field of its own has it whole
)

// entry is one message to journald in the making.
type entry struct{ data []byte }

// add adds a field. The plain form ends a value at its first newline, so one that holds any is framed by its length.
func (e *entry) add(name, value string) {
	e.data = append(e.data, name...)
	if strings.IndexByte(value, '\n') < 0 {
		e.data = append(e.data, '=')
	} else {
		e.data = append(e.data, '\n')
		e.data = binary.LittleEndian.AppendUint64(e.data, uint64(len(value)))
	}
	e.data = append(e.data, value...)
	e.data = append(e.data, '\n')
}

// field is a field of a log entry as text.
type field struct{ key, value string }

// flatten turns fields into text, sorted by key. Of two fields of one key the later counts, as in JSON.
func flatten(groups ...[]zapcore.Field) []field {
	enc := zapcore.NewMapObjectEncoder()
	for _, group := range groups {
		for _, f := range group {
			f.AddTo(enc)
		}
	}
	out := make([]field, 0, len(enc.Fields))
	for key, value := range enc.Fields {
		out = append(out, field{key, text(value)})
	}
	slices.SortFunc(out, func(a, b field) int { return strings.Compare(a.key, b.key) })
	return out
}

// text is a value as zap's map encoder leaves it.
func text(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case bool:
		return strconv.FormatBool(v)
	case time.Duration:
		return v.String()
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case nil:
		return ""
	}
	if data, err := json.Marshal(value); err == nil {
		return string(data)
	}
	return fmt.Sprint(value)
}

// reserved are names that mean something to journald or journalctl (systemd.journal-fields(7)), or that this package sets.
var reserved = []string{"MESSAGE", "PRIORITY", "EVENT", "LOGGER", "ERRNO", "INVOCATION_ID", "USER_INVOCATION_ID", "DOCUMENTATION", "TID", "UNIT", "USER_UNIT"}

// reservedPrefixes begin such names.
var reservedPrefixes = []string{"MESSAGE_", "CODE_", "SYSLOG_", "OBJECT_", "COREDUMP"}

// fieldName is key as journald takes it: upper-case letters, digits and underscores, a letter first.
func fieldName(key string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return '_'
	}, key)
	taken := slices.Contains(reserved, name) || slices.ContainsFunc(reservedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	if name == "" || taken || name[0] == '_' || name[0] >= '0' && name[0] <= '9' {
		name = "FIELD_" + strings.TrimLeft(name, "_")
	}
	return name[:min(len(name), maxFieldName)]
}

// message is what journalctl shows of an entry: its constant message, and the fields behind it in short.
func message(text string, fields []field) string {
	var b strings.Builder
	b.WriteString(printable(text))
	for _, f := range fields {
		b.WriteByte(' ')
		b.WriteString(printable(f.key))
		b.WriteByte('=')
		b.WriteString(shown(f.value))
	}
	return b.String()
}

func shown(value string) string {
	cut := ""
	if len(value) > maxShown {
		end := maxShown
		for end > 0 && !utf8.RuneStart(value[end]) {
			end--
		}
		value, cut = value[:end], "…"
	}
	plain := value != "" && !strings.ContainsFunc(value, func(r rune) bool {
		return r <= ' ' || r == '"' || r == '=' || r == utf8.RuneError || !strconv.IsPrint(r)
	})
	if plain {
		return value + cut
	}
	return strconv.Quote(value) + cut
}

// printable is s, escaped if it holds what does more to a terminal than to be seen.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
