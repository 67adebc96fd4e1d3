package craftos

import (
	"context"
	"time"
)

// Key codes of a computer's keyboard, as the keys API names them (those of GLFW).
const (
	KeyEnter     = 257
	KeyTab       = 258
	KeyBackspace = 259
	KeyDelete    = 261
	KeyRight     = 262
	KeyLeft      = 263
	KeyDown      = 264
	KeyUp        = 265
	KeyHome      = 268
	KeyEnd       = 269
)

// Key presses and releases a key.
func (c *Computer) Key(code int) {
	c.QueueEvent("key", code, false)
	c.QueueEvent("key_up", code)
}

// Type types text: a char event for each character, and the enter key for each newline. Characters that the
// computer has not (beyond Latin-1) become question marks.
func (c *Computer) Type(text string) {
	for _, r := range text {
		switch {
		case r == '\n':
			c.Key(KeyEnter)
		case r < 0x20:
		case r > 0xff:
			c.QueueEvent("char", "?")
		default:
			c.QueueEvent("char", string([]byte{byte(r)}))
		}
	}
}

// promptPatience is how long a typed line waits for a program that reads lines, before it goes to any program.
const promptPatience = 2 * time.Second

// TypeLine types one line of text and the enter key. It waits until the computer is on and a program reads a line there, or
// for two seconds; then until the computer has nothing else to do. So, unlike with Type, lines that come early or fast are not
// lost, and a line of any length costs few events. It fails with ctx's cause when ctx ends first.
func (c *Computer) TypeLine(ctx context.Context, line string) error {
	patience := time.NewTimer(promptPatience)
	defer patience.Stop()
	select {
	case c.lines <- line:
		return nil
	case <-patience.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case c.lines <- line:
		return nil
	case c.impatient <- line:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Paste pastes one line of text at once, which unlike Type costs a single event.
func (c *Computer) Paste(text string) {
	line := make([]byte, 0, len(text))
	for _, r := range text {
		if r == '\n' || r == '\r' {
			break
		}
		if r > 0xff {
			r = '?'
		}
		line = append(line, byte(r))
	}
	c.QueueEvent("paste", string(line))
}
