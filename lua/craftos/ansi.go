package craftos

import (
	"fmt"
	"strings"
)

// ANSI draws the whole terminal at the top left of an ANSI terminal with 24-bit colours, and puts the cursor where the
// computer has it. Characters outside ASCII and Latin-1's printable half show as spaces.
func (s Snapshot) ANSI() string {
	var b strings.Builder
	b.WriteString("\x1b[?25l")
	for y := range s.Height {
		fmt.Fprintf(&b, "\x1b[%d;1H", y+1)
		fg, bg := -1, -1
		for _, cell := range s.Cells[y*s.Width : (y+1)*s.Width] {
			if int(cell.Foreground) != fg {
				fg = int(cell.Foreground)
				b.WriteString(ansiColour(38, s.Palette[fg]))
			}
			if int(cell.Background) != bg {
				bg = int(cell.Background)
				b.WriteString(ansiColour(48, s.Palette[bg]))
			}
			if c := cell.Char; c < 0x20 || c >= 0x7f && c < 0xa0 {
				b.WriteByte(' ') // among them escapes, which must not reach the host's terminal
			} else {
				b.WriteRune(rune(c))
			}
		}
		b.WriteString("\x1b[0m")
	}
	inside := s.CursorX >= 0 && s.CursorX < s.Width && s.CursorY >= 0 && s.CursorY < s.Height
	if s.CursorBlink && inside {
		fmt.Fprintf(&b, "\x1b[%d;%dH\x1b[?25h", s.CursorY+1, s.CursorX+1)
	}
	return b.String()
}

func ansiColour(plane int, rgb uint32) string {
	return fmt.Sprintf("\x1b[%d;2;%d;%d;%dm", plane, rgb>>16&0xff, rgb>>8&0xff, rgb&0xff)
}
