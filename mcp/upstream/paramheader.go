package upstream

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/wire"
)

// paramHeader says that one argument of a tool is repeated in a header of the request: a property of the tool's input
// schema carries `x-mcp-header` (2026-07-28, basic/transports, "Custom headers from tool parameters").
type paramHeader struct {
	path   []string
	header string
}

// maxSchemaDepth bounds the walk for such properties.
const maxSchemaDepth = 16

// maxSafeInteger is the largest integer that the rule allows in a header: larger ones are not the same in every language.
const maxSafeInteger = 1<<53 - 1

// learnHeaders notes which arguments of which tools are to be repeated in headers.
func (s *session) learnHeaders(tools []mcp.Definition) {
	if !s.modern() {
		return
	}
	all := map[string][]paramHeader{}
	for _, tool := range tools {
		schema, _ := wire.Get(tool.Raw, "inputSchema")
		if found := findHeaders(nil, schema, nil, 0); len(found) > 0 {
			all[tool.Name] = found
		}
	}
	s.mu.Lock()
	s.headers = all
	s.mu.Unlock()
}

func (s *session) headersOf(tool string) []paramHeader {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.headers[tool]
}

func findHeaders(out []paramHeader, schema json.RawMessage, path []string, depth int) []paramHeader {
	properties, ok := wire.Get(schema, "properties")
	if !ok || depth == maxSchemaDepth {
		return out
	}
	for name, property := range wire.Members(properties) {
		here := append(path[:len(path):len(path)], name)
		if raw, ok := wire.Get(property, "x-mcp-header"); ok {
			if header, ok := wire.String(raw); ok && header != "" {
				out = append(out, paramHeader{path: here, header: header})
			}
		}
		out = findHeaders(out, property, here, depth+1)
	}
	return out
}

// setStatelessHeaders repeats in the header what 2026-07-28 wants there: the method, what it names, and the arguments
// that the tool's schema marks.
func setStatelessHeaders(header http.Header, m *wire.Message, marked func(tool string) []paramHeader) {
	header.Set("Mcp-Method", m.Method)
	member := map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}[m.Method]
	if member == "" {
		return
	}
	raw, _ := wire.Get(m.Params, member)
	name, ok := wire.String(raw)
	if !ok {
		return
	}
	header.Set("Mcp-Name", headerText(name))
	if m.Method != "tools/call" {
		return
	}
	for _, mark := range marked(name) {
		value, _ := wire.Get(m.Params, "arguments")
		for _, step := range mark.path {
			value, _ = wire.Get(value, step)
		}
		if text, ok := argumentText(value); ok {
			header.Set("Mcp-Param-"+mark.header, headerText(text))
		}
	}
}

// argumentText gives a string, a boolean or a safe integer as text; nothing else may stand in a header.
func argumentText(value json.RawMessage) (string, bool) {
	switch wire.Kind(value) {
	case '"':
		return wire.String(value)
	case 't', 'f':
		return string(value), true
	case '0':
		n, err := strconv.ParseFloat(string(value), 64)
		if err != nil || n != float64(int64(n)) || n > maxSafeInteger || n < -maxSafeInteger {
			return "", false
		}
		return strconv.FormatInt(int64(n), 10), true
	}
	return "", false
}

// headerText encodes what a header cannot carry as it is.
func headerText(text string) string {
	encoded := strings.HasPrefix(text, "=?base64?") && strings.HasSuffix(text, "?=")
	plain := strings.TrimSpace(text) == text && !encoded
	for i := 0; plain && i < len(text); i++ {
		plain = text[i] >= 0x20 && text[i] <= 0x7e
	}
	if plain {
		return text
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}
