package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

func jsonFlag(cmd *cobra.Command, value *bool) {
	cmd.Flags().BoolVar(value, "json", false, "print JSON")
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
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

// plural is n things, of which one is a thing.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}
