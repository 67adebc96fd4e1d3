package upstream

import (
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// tail keeps the last maxTailBytes of what a server writes on its stderr. Safe for concurrent use.
type tail struct {
	mask *masker

	mu   sync.Mutex
	ring []byte // at most maxTailBytes
	next int    // where the next byte goes once the ring is full
}

func (t *tail) write(data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(data) > maxTailBytes {
		data = data[len(data)-maxTailBytes:]
	}
	if room := maxTailBytes - len(t.ring); room > 0 {
		n := min(room, len(data))
		t.ring = append(t.ring, data[:n]...)
		data = data[n:]
	}
	for len(data) > 0 {
		n := copy(t.ring[t.next:], data)
		t.next = (t.next + n) % maxTailBytes
		data = data[n:]
	}
}

func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append(append(make([]byte, 0, len(t.ring)), t.ring[t.next:]...), t.ring[:t.next]...)
}

// The part of the tail that a message shows.
const (
	shownLines = 10
	shownBytes = 800
)

// text returns the last lines as one, with secrets masked and control characters escaped; empty if there are none.
func (t *tail) text() string {
	var lines []string
	kept := string(t.bytes())
	for line := range strings.Lines(t.mask.applyCut(kept, len(kept) == maxTailBytes, false)) {
		if line = printable(line); line != "" {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines[max(0, len(lines)-shownLines):], " / ")
	if len(text) > shownBytes {
		text = "…" + strings.ToValidUTF8(text[len(text)-shownBytes:], "")
	}
	return text
}

// printable returns a line that is safe to show on a terminal: trimmed, without colour sequences, other control
// characters and bytes that are no UTF-8 escaped.
func printable(line string) string {
	var out strings.Builder
	line = strings.TrimSpace(line)
	for i := 0; i < len(line); {
		if n := colourLength(line[i:]); n > 0 {
			i += n
			continue
		}
		r, size := utf8.DecodeRuneInString(line[i:])
		switch {
		case r == '\t':
			out.WriteByte(' ')
		case r == utf8.RuneError && size == 1, !unicode.IsPrint(r):
			quoted := strconv.QuoteToASCII(line[i : i+size])
			out.WriteString(quoted[1 : len(quoted)-1])
		default:
			out.WriteString(line[i : i+size])
		}
		i += size
	}
	return strings.TrimSpace(out.String())
}

// colourLength returns the length of the terminal sequence (ECMA-48 CSI … m) that text begins with; 0 if none.
func colourLength(text string) int {
	if !strings.HasPrefix(text, "\x1b[") {
		return 0
	}
	for i := 2; i < len(text); i++ {
		switch c := text[i]; {
		case c == 'm':
			return i + 1
		case c != ';' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}
