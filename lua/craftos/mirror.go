package craftos

import (
	"io"
	"strings"
)

// mirror is a computer's terminal as lines of text on a writer of the host. Its methods but write are called under the
// terminal's lock; they return what write has to write once that is released.
type mirror struct {
	out io.Writer // nil: nothing is mirrored
	// person: out is a plain terminal at which somebody types lines and sees them echoed there.
	person bool

	shown string  // what out shows of the cursor's row, with no line break after it
	typed *string // the line that was typed after it, line break included
}

func (m *mirror) write(text string) {
	if m.out != nil && text != "" {
		_, _ = io.WriteString(m.out, text) // a mirror that fails is no reason to stop the computer
	}
}

// prompt is called with what stands before a blinking cursor. shown is false when that is not shown.
func (m *mirror) prompt(before string) (text string, shown bool) {
	if !m.person || m.shown != "" || m.typed != nil {
		return "", false
	}
	m.shown = before
	return before, true
}

func (m *mirror) echoed(line string) {
	if m.person {
		m.typed = &line
	}
}

// finish is called with a row that the cursor leaves; pending says that it changed since out saw it.
func (m *mirror) finish(row string, pending bool) string {
	shown, typed := m.shown, m.typed
	m.shown, m.typed = "", nil
	switch {
	case typed != nil && strings.TrimLeft(strings.TrimPrefix(row, shown), " ") == strings.Trim(*typed, " "):
		return "" // the person's terminal shows it already
	case typed == nil && shown != "":
		if rest, found := strings.CutPrefix(row, shown); found {
			return rest + "\n"
		} else if row == strings.TrimRight(shown, " ") {
			return "\n"
		}
		return "\n" + row + "\n"
	case pending:
		return row + "\n"
	}
	return ""
}
