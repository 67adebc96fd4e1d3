package main

import (
	"io"
	"os"
	"strings"

	"github.com/traposd/traposd/mcpconfig"
)

// coloured reports whether w is a terminal whose user has not asked for no colour (https://no-color.org).
func coloured(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// paint colours the severity of a problem's line, and nothing that an editor reads.
func paint(line string, severity mcpconfig.Severity) string {
	colour := "\x1b[33m" // yellow
	if severity == mcpconfig.SeverityError {
		colour = "\x1b[31m" // red
	}
	word := severity.String()
	return strings.Replace(line, ": "+word+": ", ": "+colour+word+"\x1b[0m: ", 1)
}
