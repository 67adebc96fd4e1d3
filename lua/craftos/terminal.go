package craftos

import (
	"strings"
	"sync"
)

// Colours of a terminal, as exponents of two: white is 1<<0, black 1<<15.
const (
	colourWhite = 0
	colourBlack = 15
	colourRed   = 14
)

// defaultPalette is CC:Tweaked's, as 0xRRGGBB, from white to black.
var defaultPalette = [16]uint32{
	0xf0f0f0, 0xf2b233, 0xe57fd8, 0x99b2f2, 0xdede6c, 0x7fcc19, 0xf2b2cc, 0x4c4c4c,
	0x999999, 0x4c99b2, 0xb266e5, 0x3366cc, 0x7f664c, 0x57a64e, 0xcc4c4c, 0x111111,
}

// Cell is one character of the terminal. The character is a byte of the computer's own set, of which ASCII and Latin-1's
// upper half are what they seem. Colours are 0 (white) to 15 (black).
type Cell struct {
	Char                   byte
	Foreground, Background uint8
}

// Snapshot is the state of a terminal at one moment.
type Snapshot struct {
	Width, Height    int
	Cells            []Cell // row by row
	CursorX, CursorY int    // from 0; may lie outside
	CursorBlink      bool
	Palette          [16]uint32 // 0xRRGGBB
}

// terminal is a computer's screen. Its methods may be called from any goroutine.
type terminal struct {
	mirror  mirror
	changed chan struct{} // one slot

	mu      sync.Mutex
	state   Snapshot // guarded by mu, as are all below
	fg, bg  uint8
	pending bool // the cursor's row has text that the mirror has not seen
}

func newTerminal(width, height int, m mirror) *terminal {
	t := &terminal{mirror: m, changed: make(chan struct{}, 1)}
	t.state.Width, t.state.Height = width, height
	t.reset()
	return t
}

// reset makes the terminal what it is when the computer is turned on.
func (t *terminal) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fg, t.bg, t.pending = colourWhite, colourBlack, false
	t.state.CursorX, t.state.CursorY, t.state.CursorBlink = 0, 0, false
	t.state.Palette = defaultPalette
	t.state.Cells = make([]Cell, t.state.Width*t.state.Height)
	t.fill(t.state.Cells)
	t.touch()
}

func (t *terminal) fill(cells []Cell) {
	for i := range cells {
		cells[i] = Cell{Char: ' ', Foreground: t.fg, Background: t.bg}
	}
}

func (t *terminal) touch() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

func (t *terminal) row(y int) []Cell {
	return t.state.Cells[y*t.state.Width : (y+1)*t.state.Width]
}

func (t *terminal) rowText(y int) string {
	return strings.TrimRight(t.cellText(y, t.state.Width), " ")
}

// cellText is the text of the first n cells of a row.
func (t *terminal) cellText(y, n int) string {
	var b strings.Builder
	for _, cell := range t.row(y)[:n] {
		b.WriteRune(rune(cell.Char))
	}
	return b.String()
}

func (t *terminal) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := make([]string, t.state.Height)
	for y := range lines {
		lines[y] = t.rowText(y)
	}
	return lines
}

func (t *terminal) snapshot() Snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.state
	s.Cells = append([]Cell(nil), t.state.Cells...)
	return s
}

// takeLine returns what the mirror has to see of the cursor's row, which is complete. The caller writes it without the lock.
func (t *terminal) takeLine() string {
	pending := t.pending
	t.pending = false
	if y := t.state.CursorY; y >= 0 && y < t.state.Height {
		return t.mirror.finish(t.rowText(y), pending)
	}
	return ""
}

// flush shows an unfinished line in the mirror.
func (t *terminal) flush() {
	t.mu.Lock()
	text := t.takeLine()
	t.mu.Unlock()
	if text != "\n" {
		t.mirror.write(text)
	}
}

// awaitsLine reports whether a program waits for a line of text, as far as a blinking cursor tells, and if so shows the mirror
// what stands before the cursor.
func (t *terminal) awaitsLine() bool {
	t.mu.Lock()
	blink, text := t.state.CursorBlink, ""
	x, y := t.state.CursorX, t.state.CursorY
	if blink && t.pending && y >= 0 && y < t.state.Height {
		var shown bool
		if text, shown = t.mirror.prompt(t.cellText(y, max(0, min(x, t.state.Width)))); shown {
			t.pending = false
		}
	}
	t.mu.Unlock()
	t.mirror.write(text)
	return blink
}

// echoed notes that the mirror's person typed a line, and sees it.
func (t *terminal) echoed(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mirror.echoed(line)
}

func (t *terminal) write(text string) {
	t.blit(text, "", "")
}

// blit writes text at the cursor and moves it. The colours are one hexadecimal digit per character, or empty for
// the current ones.
func (t *terminal) blit(text, foregrounds, backgrounds string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	y := t.state.CursorY
	if y >= 0 && y < t.state.Height {
		row := t.row(y)
		for i := range len(text) {
			x := t.state.CursorX + i
			if x < 0 || x >= len(row) {
				continue
			}
			cell := Cell{Char: text[i], Foreground: t.fg, Background: t.bg}
			if cell.Char == '\t' {
				cell.Char = ' '
			} else if cell.Char < 0x20 && cell.Char != 0 && (cell.Char == '\n' || cell.Char == '\r') {
				cell.Char = '?'
			}
			if foregrounds != "" {
				cell.Foreground = hexColour(foregrounds[i], cell.Foreground)
				cell.Background = hexColour(backgrounds[i], cell.Background)
			}
			t.pending = t.pending || row[x] != cell
			row[x] = cell
		}
	}
	t.state.CursorX += len(text)
	t.touch()
}

func hexColour(c byte, otherwise uint8) uint8 {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return otherwise
}

func (t *terminal) setCursor(x, y int) {
	t.mu.Lock()
	text := ""
	if y != t.state.CursorY {
		text = t.takeLine()
	}
	t.state.CursorX, t.state.CursorY = x, y
	t.touch()
	t.mu.Unlock()
	t.mirror.write(text)
}

func (t *terminal) scroll(n int) {
	t.mu.Lock()
	text := t.takeLine()
	width, height := t.state.Width, t.state.Height
	cells := make([]Cell, width*height)
	t.fill(cells)
	for y := range height {
		if from := y + n; from >= 0 && from < height {
			copy(cells[y*width:(y+1)*width], t.row(from))
		}
	}
	t.state.Cells = cells
	t.touch()
	t.mu.Unlock()
	t.mirror.write(text)
}

func (t *terminal) clear(all bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pending = false
	if all {
		t.fill(t.state.Cells)
	} else if y := t.state.CursorY; y >= 0 && y < t.state.Height {
		t.fill(t.row(y))
	}
	t.touch()
}

// showAbort is what remains on the screen of a computer that was turned off by force.
func (t *terminal) showAbort() {
	t.mu.Lock()
	t.fg, t.bg = colourRed, colourBlack
	t.state.CursorX, t.state.CursorY = 0, 0
	t.fill(t.state.Cells)
	t.mu.Unlock()
	t.write("Error running computer")
	t.setCursor(0, 1)
	t.write("Too long without yielding")
	t.setCursor(0, 2)
}

// Snapshot is the terminal with its colours and cursor.
func (c *Computer) Snapshot() Snapshot { return c.screen.snapshot() }

// Changed receives after the terminal changed; changes that nobody waited for are one.
func (c *Computer) Changed() <-chan struct{} { return c.screen.changed }
