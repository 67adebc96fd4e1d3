package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

func jsonFlag(cmd *cobra.Command, value *bool) {
	cmd.Flags().BoolVar(value, "json", false, "print JSON")
}

// printJSON prints v. What others chose cannot steer the terminal: JSON escapes the control characters of ASCII, and
// escapeControls the others (U+009B begins a control sequence, U+202E turns the text around).
func printJSON(w io.Writer, v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(escapeControls(text.Bytes()))
	return err
}

// escapeControls writes what cannot be printed as JSON does: \uXXXX, in two halves beyond U+FFFF. In valid JSON, it can
// stand only inside of strings.
func escapeControls(text []byte) []byte {
	var out []byte
	for _, r := range string(text) {
		switch {
		case r < 0x7f || strconv.IsPrint(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// printable keeps what others chose (names, messages) from steering the terminal: control characters are escaped.
func printable(s string) string {
	clean := true
	for _, r := range s {
		if !strconv.IsPrint(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// shownPath is a path for a person: below the home folder it begins with ~.
func shownPath(path string) string {
	home, err := os.UserHomeDir()
	if err == nil && home != "" && home != string(filepath.Separator) {
		if rest, below := strings.CutPrefix(path, home+string(filepath.Separator)); below {
			path = filepath.Join("~", rest)
		}
	}
	return printable(path)
}

// cellWidth is what a cell of a table may hold; the whole text is in the --json form.
const cellWidth = 100

func cell(s string) string {
	s = printable(s)
	if runes := []rune(s); len(runes) > cellWidth {
		return string(runes[:cellWidth-1]) + "…"
	}
	return s
}
