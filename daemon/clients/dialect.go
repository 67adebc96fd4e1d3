package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pelletier/go-toml/v2"
)

// dialect is a way of writing entries.
type dialect int

const (
	dialectCommon   dialect = iota // root mcpServers: Claude, Cursor, Windsurf, Gemini and many others
	dialectVSCode                  // root servers, with inputs
	dialectOpencode                // root mcp
	dialectCodex                   // TOML, root mcp_servers
	dialectZed                     // root context_servers
)

// serverList is the servers of a file.
type serverList struct {
	dialect dialect
	servers []field
	notes   []string
}

// roots are where the lists stand, by dialect; VS Code had its list in its settings once, opencode moved its own one deeper.
var roots = []struct {
	keys    []string
	dialect dialect
}{
	{[]string{"mcpServers"}, dialectCommon},
	{[]string{"servers"}, dialectVSCode},
	{[]string{"mcp", "servers"}, dialectVSCode},
	{[]string{"mcp"}, dialectOpencode},
	{[]string{"mcp_servers"}, dialectCodex},
	{[]string{"context_servers"}, dialectZed},
}

func findList(file []field) (serverList, error) {
	for _, root := range roots {
		servers, found := file, true
		for _, key := range root.keys {
			value, _ := lookup(servers, key)
			if servers, found = value.([]field); !found {
				break
			}
		}
		if !found {
			continue
		}
		list := serverList{dialect: root.dialect, servers: servers}
		if len(root.keys) == 2 && isOpencode(servers) {
			list.dialect = dialectOpencode
		}
		if _, there := lookup(file, "projects"); there && root.dialect == dialectCommon {
			list.notes = append(list.notes, "the servers of single projects (projects) are not read; those belong into the projects' own .mcp.json")
		}
		if _, there := lookup(file, "inputs"); there {
			list.notes = append(list.notes, "inputs ask a person, which a service cannot; each became a variable, see below")
		}
		return list, nil
	}
	return serverList{}, errors.New("no list of servers is in it (mcpServers, servers, mcp, mcp_servers or context_servers)")
}

// isOpencode tells opencode's second version from VS Code's settings, which have the same keys.
func isOpencode(servers []field) bool {
	for _, s := range servers {
		fields, _ := s.value.([]field)
		switch kind, _ := lookup(fields, "type"); kind {
		case "local", "remote":
			return true
		}
	}
	return false
}

// parseTOML reads a TOML file; its tables have no order, and come by name.
func parseTOML(data []byte) ([]field, error) {
	decoded, err := decodeTOML(data)
	if err != nil {
		return nil, err
	}
	fields, _ := fromTOML(decoded).([]field)
	return fields, nil
}

func fromTOML(v any) any {
	switch v := v.(type) {
	case map[string]any:
		fields := make([]field, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			fields = append(fields, field{name, fromTOML(v[name])})
		}
		return fields
	case []any:
		list := make([]any, 0, len(v))
		for _, e := range v {
			list = append(list, fromTOML(e))
		}
		return list
	case int64, float64:
		return json.Number(fmt.Sprint(v))
	case string, bool:
		return v
	case toml.LocalDate, toml.LocalTime, toml.LocalDateTime:
		return fmt.Sprint(v)
	}
	return nil
}
