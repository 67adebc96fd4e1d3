package daemon

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// logLine is a call of a logger in the code, or a row of the table.
type logLine struct{ message, level, place string }

// TestEveryLogLineIsInTheTable holds packaging/doc/logging.md against what the code logs from level info on.
func TestEveryLogLineIsInTheTable(t *testing.T) {
	documented := map[string]logLine{}
	events := map[string]string{}
	for _, row := range tableRows(t) {
		if _, twice := documented[row[0]]; twice {
			t.Errorf("%q stands twice in the table", row[0])
		}
		documented[row[0]] = logLine{row[0], row[1], ""}
		if row[2] != "" {
			events[row[0]] = row[2]
		}
	}
	seen := map[string]bool{}
	for _, line := range logLines(t) {
		seen[line.message] = true
		row, there := documented[line.message]
		if !there {
			t.Errorf("%s: %q is not in the table", line.place, line.message)
		} else if line.level != "" && !slices.Contains(strings.Split(row.level, ", "), line.level) {
			t.Errorf("%s: %q is logged at %s; the table says %s", line.place, line.message, line.level, row.level)
		}
	}
	for message := range documented {
		if !seen[message] {
			t.Errorf("%q is in the table, and nothing logs it", message)
		}
	}
	for message, event := range journalEvents {
		if events[message] != event.Name {
			t.Errorf("%q has the event %q; the table says %q", message, event.Name, events[message])
		}
		delete(events, message)
	}
	if len(events) > 0 {
		t.Errorf("events of the table that there are not: %v", events)
	}
	if len(seen) < 40 {
		t.Errorf("only %d log lines were found in the code", len(seen))
	}
}

// tableRows gives message, level and event of each row.
func tableRows(t *testing.T) (rows [][3]string) {
	t.Helper()
	data, err := os.ReadFile("../packaging/doc/logging.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `(.*?)` \\| ([a-z, ]+) \\| (?:`([a-z_]+)`)? ?\\|")
	for _, match := range row.FindAllStringSubmatch(string(data), -1) {
		rows = append(rows, [3]string{match[1], match[2], match[3]})
	}
	return rows
}

// logLines finds the calls of zap's Info, Warn, Error and Log with a constant message, or a constant part of one.
func logLines(t *testing.T) (lines []logLine) {
	t.Helper()
	files := token.NewFileSet()
	for _, room := range []string{".", "../gateway", "../mcp"} {
		err := filepath.WalkDir(room, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "internal") {
				return err
			}
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(node ast.Node) bool {
				if call, ok := node.(*ast.CallExpr); ok {
					for _, message := range loggedBy(call) {
						message.place = files.Position(call.Pos()).String()
						lines = append(lines, message)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return lines
}

// loggedBy gives the messages of a call of a logger; those of a certificate's use are its argument.
func loggedBy(call *ast.CallExpr) []logLine {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	level, at := strings.ToLower(selector.Sel.Name), 0
	switch selector.Sel.Name {
	case "Info", "Warn", "Error":
	case "Log":
		level, at = "", 1
	case "use":
		level, at = "info", 1
	default:
		return nil
	}
	if len(call.Args) <= at {
		return nil
	}
	var lines []logLine
	ast.Inspect(call.Args[at], func(node ast.Node) bool {
		literal, ok := node.(*ast.BasicLit)
		if ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil {
				lines = append(lines, logLine{message: text, level: level})
			}
		}
		return true
	})
	return lines
}
