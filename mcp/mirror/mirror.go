// Package mirror repeats parts of a JSON-RPC message in HTTP headers, as revision 2026-07-28 wants it (transports, "Standard
// Headers", "Custom Headers from Tool Parameters" and "Value Encoding"): the method, what it names, and the arguments that a
// tool's input schema marks. Its functions keep no state and may be called from many goroutines at once.
package mirror

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/traposd/traposd/mcp/wire"
)

// Names of the headers; ParamPrefix stands before what a schema calls an argument's header.
const (
	HeaderMethod = "Mcp-Method"
	HeaderName   = "Mcp-Name"
	ParamPrefix  = "Mcp-Param-"
)

const (
	// maxDepth bounds the walk for marked properties.
	maxDepth = 16

	// maxSafeInteger is the largest integer that the rule allows in a header: larger ones are not the same in every language.
	maxSafeInteger = 1<<53 - 1

	encodedPrefix, encodedSuffix = "=?base64?", "?="
)

// NameKey is the member of a method's params that HeaderName repeats; empty: none.
func NameKey(method string) string {
	switch method {
	case "tools/call", "prompts/get":
		return "name"
	case "resources/read":
		return "uri"
	}
	return ""
}

// Param says that one argument of a tool is repeated in a header: a property of its input schema carries `x-mcp-header`.
type Param struct {
	Path   []string // of the argument: names of properties, outermost first
	Header string   // without ParamPrefix
}

// Params finds the marked properties of a tool's input schema, in its order.
func Params(inputSchema json.RawMessage) []Param { return params(nil, inputSchema, nil, 0) }

func params(out []Param, schema json.RawMessage, path []string, depth int) []Param {
	properties, ok := wire.Get(schema, "properties")
	if !ok || depth == maxDepth {
		return out
	}
	for name, property := range wire.Members(properties) {
		here := append(path[:len(path):len(path)], name)
		if raw, ok := wire.Get(property, "x-mcp-header"); ok {
			if header, ok := wire.String(raw); ok && header != "" {
				out = append(out, Param{Path: here, Header: header})
			}
		}
		out = params(out, property, here, depth+1)
	}
	return out
}

// Value is the argument itself; nil if it is not there.
func (p Param) Value(arguments json.RawMessage) json.RawMessage {
	value := arguments
	for _, step := range p.Path {
		value, _ = wire.Get(value, step)
	}
	return value
}

// Set sets the headers for a message. params gives what is marked of a tool, by the name in the message.
func Set(header http.Header, m *wire.Message, params func(tool string) []Param) {
	header.Set(HeaderMethod, m.Method)
	key := NameKey(m.Method)
	if key == "" {
		return
	}
	raw, _ := wire.Get(m.Params, key)
	name, ok := wire.String(raw)
	if !ok {
		return
	}
	header.Set(HeaderName, Encode(name))
	if m.Method != "tools/call" {
		return
	}
	arguments, _ := wire.Get(m.Params, "arguments")
	for _, p := range params(name) {
		if text, ok := argumentText(p.Value(arguments)); ok {
			header.Set(ParamPrefix+p.Header, Encode(text))
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

// Encode makes of a text what a header can carry.
func Encode(text string) string {
	encoded := strings.HasPrefix(text, encodedPrefix) && strings.HasSuffix(text, encodedSuffix)
	plain := strings.TrimSpace(text) == text && !encoded
	for i := 0; plain && i < len(text); i++ {
		plain = text[i] >= 0x20 && text[i] <= 0x7e
	}
	if plain {
		return text
	}
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(text)) + encodedSuffix
}

// Decode undoes Encode.
func Decode(value string) (text string, ok bool) {
	encoded, ok := strings.CutPrefix(value, encodedPrefix)
	if !ok {
		return value, true
	}
	encoded, ok = strings.CutSuffix(encoded, encodedSuffix)
	if !ok {
		return value, true
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	return string(decoded), err == nil
}
