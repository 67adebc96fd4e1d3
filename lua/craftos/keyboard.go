package craftos

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
