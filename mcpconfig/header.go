package mcpconfig

// headerName tells whether HTTP allows the name: a token of RFC 9110, section 5.6.2.
func headerName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if digit(c) || letter(c) {
			continue
		}
		switch c {
		case '!', '#', '%', '&', '\'', '*', '+', '-', '.', '^', '`', '|', '~':
		default:
			return false
		}
	}
	return name != ""
}

// headerValue tells whether HTTP allows the value: no control characters but the tab (RFC 9110, section 5.5).
func headerValue(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
