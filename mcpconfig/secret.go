package mcpconfig

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

// redacted is what a Secret shows, whatever is asked of it.
const redacted = "[redacted]"

// Secret holds a text that must not be shown: a value from a configuration file, a password, a token. It prints as
// [redacted] under every fmt verb, as JSON, as text, in slog and in zap; only Reveal gives the text. The zero Secret holds
// the empty text. Use Equal to compare: the operator == compares identities.
type Secret struct {
	// A pointer, because fmt calls no methods on what it reaches through somebody's unexported field: there it prints an
	// address instead of the text.
	text *string
}

// NewSecret wraps a text.
func NewSecret(text string) Secret { return Secret{text: &text} }

// Reveal returns the text. Whoever calls it answers for where it goes.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero tells whether the text is empty.
func (s Secret) IsZero() bool { return s.text == nil || *s.text == "" }

// Equal tells whether both hold the same text, in a time that depends on the lengths only.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(other.Reveal())) == 1
}

// String returns [redacted].
func (s Secret) String() string { return redacted }

// GoString returns [redacted].
func (s Secret) GoString() string { return redacted }

// Format writes [redacted] for every verb and flag.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalText returns [redacted]; encoders of XML, YAML, TOML and gob call it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON returns "[redacted]".
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// LogValue returns [redacted] to slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
