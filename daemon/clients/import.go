package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Note is one thing about an import that a person should know. It names fields and variables and holds no value.
type Note struct {
	Path    string
	Server  string // empty: about the file
	Message string
}

// Imported is what was read of other clients' files, in the order in which it stood there.
type Imported struct {
	names   []string
	entries []entry
	Notes   []Note
}

// entry is an entry as .mcp.json has it.
type entry struct {
	Type           string            `json:"type,omitempty"`
	Command        string            `json:"command,omitempty"`
	Args           []string          `json:"args,omitempty"`
	Env            map[string]string `json:"env,omitempty"`
	EnvFile        string            `json:"envFile,omitempty"`
	Cwd            string            `json:"cwd,omitempty"`
	URL            string            `json:"url,omitempty"`
	Headers        map[string]string `json:"headers,omitempty"`
	StartupTimeout int64             `json:"startupTimeout,omitempty"` // milliseconds
	Timeout        int64             `json:"timeout,omitempty"`        // milliseconds
	Disabled       bool              `json:"disabled,omitempty"`
}

// Len is the number of servers.
func (im *Imported) Len() int { return len(im.names) }

// File is a .mcp.json with what was read.
func (im *Imported) File() []byte {
	var out bytes.Buffer
	out.WriteString("{\n  \"mcpServers\": {")
	for i, name := range im.names {
		if i > 0 {
			out.WriteByte(',')
		}
		key, _ := json.Marshal(name)
		// A name or a value with <, > or & is to be read by people, so these are not escaped.
		var text bytes.Buffer
		enc := json.NewEncoder(&text)
		enc.SetEscapeHTML(false)
		enc.SetIndent("    ", "  ")
		_ = enc.Encode(im.entries[i]) // strings and numbers can always be written
		fmt.Fprintf(&out, "\n    %s: %s", key, bytes.TrimRight(text.Bytes(), "\n"))
	}
	if len(im.names) > 0 {
		out.WriteString("\n  ")
	}
	out.WriteString("}\n}\n")
	return out.Bytes()
}

// Import reads a client's file and adds its servers. Of two of one name the first is kept. What has no place in .mcp.json is
// told in Notes. An error names the file and the place in it, and leaves what was read before as it is.
func (im *Imported) Import(path string) error {
	data, _, err := readFile(path)
	if err != nil {
		return err
	}
	if data == nil {
		return fmt.Errorf("%s is not there", path)
	}
	file, err := parseFile(path, data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	list, err := findList(file)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, note := range list.notes {
		im.note(path, "", note)
	}
	for _, m := range list.servers {
		im.add(path, list.dialect, m)
	}
	return nil
}

func (im *Imported) note(path, server, message string) {
	im.Notes = append(im.Notes, Note{Path: path, Server: server, Message: message})
}

// add translates one entry.
func (im *Imported) add(path string, d dialect, m field) {
	name := m.name
	if clean := strings.TrimSpace(strings.ReplaceAll(name, "__", "_")); clean != name {
		name = clean
		im.note(path, m.name, "its name must not hold two underscores or begin or end in a space; it is "+name+" now")
	}
	t := translation{dialect: d, note: func(message string) { im.note(path, m.name, message) }}
	e, ok := t.entry(m.value)
	switch {
	case !ok:
		return
	case name == entryName && e.URL != "":
		t.note("left out: it is our own listener")
		return
	case slices.Contains(im.names, name):
		t.note("left out: another server of this name was read before")
		return
	}
	im.names = append(im.names, name)
	im.entries = append(im.entries, e)
}

// field is a member of an object, in the order of the file. A value is nil, a bool, a json.Number, a string, []any or
// []field.
type field struct {
	name  string
	value any
}

func lookup(fields []field, name string) (any, bool) {
	for _, f := range fields {
		if f.name == name {
			return f.value, true
		}
	}
	return nil, false
}

// parseFile reads JSON with comments, or TOML if the file's name says so.
func parseFile(path string, data []byte) ([]field, error) {
	if strings.EqualFold(filepath.Ext(path), ".toml") {
		return parseTOML(data)
	}
	file, err := hujson.Parse(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", reason(err))
	}
	file.Standardize()
	fields, ok := plain(file).([]field)
	if !ok {
		return nil, errors.New("it holds no JSON object")
	}
	return fields, nil
}

func plain(v hujson.Value) any {
	switch v := v.Value.(type) {
	case *hujson.Object:
		fields := make([]field, 0, len(v.Members))
		for _, m := range v.Members {
			name, _ := m.Name.Value.(hujson.Literal)
			fields = append(fields, field{name.String(), plain(m.Value)})
		}
		return fields
	case *hujson.Array:
		list := make([]any, 0, len(v.Elements))
		for _, e := range v.Elements {
			list = append(list, plain(e))
		}
		return list
	case hujson.Literal:
		switch v.Kind() {
		case 't', 'f':
			return v.Bool()
		case '"':
			return v.String()
		case '0':
			return json.Number(v)
		}
	}
	return nil
}
