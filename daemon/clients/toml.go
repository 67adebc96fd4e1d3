package clients

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"

	"github.com/pelletier/go-toml/v2"
)

// mergeTOML sets the table of our name below root. The library that reads the file cannot write it back with its comments,
// so the table's lines are put in as text, and the file is read again to see that nothing else came of it.
func mergeTOML(before []byte, root string, entry any) ([]byte, Outcome, error) {
	was, err := decodeTOML(before)
	if err != nil {
		return nil, Already, err
	}
	body, err := toml.Marshal(entry)
	if err != nil {
		return nil, Already, err
	}
	want, err := decodeTOML(body)
	if err != nil {
		return nil, Already, err
	}
	servers, _ := was[root].(map[string]any)
	if is, there := servers[entryName]; there {
		if reflect.DeepEqual(is, any(want)) {
			return before, Already, nil
		}
		after, ok := replaceTable(before, root, body)
		if !ok || !changedOnly(was, after, root, want) {
			return nil, Already, fmt.Errorf("%s.%s stands there in a form that cannot be replaced; use --print and change it by hand", root, entryName)
		}
		return after, Replaced, nil
	}
	after := bytes.TrimRight(before, " \t\r\n")
	if len(after) > 0 {
		after = append(after[:len(after):len(after)], "\n\n"...)
	}
	after = fmt.Appendf(after, "[%s.%s]\n%s", root, entryName, body)
	if !changedOnly(was, after, root, want) {
		return nil, Already, fmt.Errorf("%s has a form that cannot be added to; use --print and add it by hand", root)
	}
	return after, Added, nil
}

// replaceTable replaces the lines below the header of our table, up to the next header.
func replaceTable(text []byte, root string, body []byte) ([]byte, bool) {
	header := regexp.MustCompile(`(?m)^[ \t]*\[[ \t]*` + root + `[ \t]*\.[ \t]*["']?` + entryName + `["']?[ \t]*\][ \t]*(#.*)?\r?\n?`)
	at := header.FindIndex(text)
	if at == nil {
		return nil, false
	}
	rest := text[at[1]:]
	lines := bytes.SplitAfter(rest, []byte("\n"))
	end := slices.IndexFunc(lines, func(line []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(line), []byte("[")) })
	if end < 0 {
		end = len(lines)
	}
	// Blank lines and comments before the next header belong to it.
	for end > 0 {
		line := bytes.TrimSpace(lines[end-1])
		if len(line) > 0 && line[0] != '#' {
			break
		}
		end--
	}
	return slices.Concat(text[:at[1]], body, bytes.Join(lines[end:], nil)), true
}

// changedOnly tells whether a file says what it said before, and want under our name.
func changedOnly(was map[string]any, after []byte, root string, want map[string]any) bool {
	is, err := decodeTOML(after)
	if err != nil {
		return false
	}
	servers, ok := is[root].(map[string]any)
	if !ok || !reflect.DeepEqual(servers[entryName], any(want)) {
		return false
	}
	wasServers, had := was[root].(map[string]any)
	if !had && len(servers) == 1 {
		delete(is, root)
		return reflect.DeepEqual(is, was)
	}
	if before, there := wasServers[entryName]; there {
		servers[entryName] = before
	} else {
		delete(servers, entryName)
	}
	return reflect.DeepEqual(is, was)
}

func decodeTOML(text []byte) (map[string]any, error) {
	decoded := map[string]any{}
	err := toml.Unmarshal(text, &decoded)
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		row, column := wrong.Position()
		return nil, fmt.Errorf("it is not TOML: the syntax is wrong at line %d, column %d", row, column)
	}
	if err != nil {
		return nil, errors.New("it is not TOML")
	}
	return decoded, nil
}
