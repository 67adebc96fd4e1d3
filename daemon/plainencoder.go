package daemon

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"
)

// plainEncoder writes as \uXXXX what could steer a terminal or turn the order of a line around: names in a log come from
// servers and computers. zap escapes the control characters below U+0020 itself, but neither U+007F to U+009F, of which U+009B
// begins an escape sequence as ESC [ does, nor those of bidirectional text. All of a field's text is in JSON, in the
// console's format too, so that the escape is one that readers of JSON undo.
type plainEncoder struct{ zapcore.Encoder }

func (e plainEncoder) Clone() zapcore.Encoder { return plainEncoder{e.Encoder.Clone()} }

func (e plainEncoder) EncodeEntry(entry zapcore.Entry, fields []zapcore.Field) (*buffer.Buffer, error) {
	line, err := e.Encoder.EncodeEntry(entry, fields)
	if err != nil || isPlainLine(line.Bytes()) {
		return line, err
	}
	out := lines.Get()
	for text := line.Bytes(); len(text) > 0; {
		r, size := utf8.DecodeRune(text)
		if steers(r) {
			_, _ = fmt.Fprintf(out, `\u%04x`, r) // a Buffer's Write does not fail
		} else {
			_, _ = out.Write(text[:size])
		}
		text = text[size:]
	}
	line.Free()
	return out, nil
}

// isPlainLine reports whether a line is plain ASCII without control characters, as nearly all are.
func isPlainLine(line []byte) bool {
	for _, c := range line {
		if c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

func steers(r rune) bool {
	switch r {
	case '\n', '\t': // those that zap itself writes; in a field they are escaped
		return false
	case '\u2028', '\u2029':
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}
