package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/traposd/traposd/mcp/wire"
)

// The tools of compact mode. They stand before any of a server that is called the same, which `call-tool` can still call.
const (
	findTools = "find-tools"
	callTool  = "call-tool"
)

// Bounds of what find-tools takes and gives.
const (
	defaultFound  = 5        // tools with their definitions, if the client does not say how many
	maxFound      = 50       // the same, whatever it says
	maxFoundBytes = 32 << 10 // of their definitions; the best one is given whatever its size
	maxFoundNames = 50       // further ones, by name only
	maxQuery      = 1 << 10  // bytes of a query
	maxNamed      = 50       // servers, and tools of none, in the description
)

// compact is what a client of compact mode has instead of a long list.
type compact struct {
	tools *list // that it can find and call
	index func() *index
}

// compacted is the state with two tools in place of all.
func (s *snapshot) compacted() *snapshot {
	tools := newList(s.tools.member, s.tools.key)
	for _, raw := range []json.RawMessage{findDefinition(s), callDefinition} {
		name, _ := wire.Get(raw, "name")
		text, _ := wire.String(name)
		tools.items = append(tools.items, Definition{Name: text, Raw: raw})
		tools.routes[text] = target{raw: raw}
	}
	tools.seal()
	seen := *s
	seen.compact = &compact{tools: s.tools, index: sync.OnceValue(func() *index { return newIndex(s.tools) })}
	seen.tools = tools
	seen.sums[kindTools] = tools.sum
	return &seen
}

// route finds a tool by its exposed name. One of compact mode's own has no entry; the others can be called there, too.
func (s *snapshot) route(name string) (target, bool) {
	found, ok := s.tools.routes[name]
	if !ok && s.compact != nil {
		found, ok = s.compact.tools.routes[name]
	}
	return found, ok
}

// findDefinition says what can be searched: it changes, and clients hear of it, when a server comes or goes.
func findDefinition(s *snapshot) json.RawMessage {
	var servers, alone []string
	for _, item := range s.tools.items {
		found := s.tools.routes[item.Name]
		switch name := found.entry.Name; {
		case name == "":
			alone = append(alone, item.Name)
		case len(servers) == 0 || servers[len(servers)-1] != name: // they come in the order of their names
			servers = append(servers, name)
		}
	}
	text := "Finds tools, which are too many to be listed. Search for what you want to do; " +
		"then call one of the tools found with " + callTool + "."
	text += named(" They belong to the servers ", servers) + named(" There are also the tools ", alone)
	return json.RawMessage(`{"name":"` + findTools + `","title":"Find tools","description":` + string(wire.Quote(text)) +
		`,"inputSchema":{"type":"object","properties":{` +
		`"query":{"type":"string","description":"words that name or describe what the tool does; empty: all tools"},` +
		`"server":{"type":"string","description":"only tools of this server"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":` + strconv.Itoa(maxFound) +
		`,"description":"how many are described in full; ` + strconv.Itoa(defaultFound) + ` if left out"}},` +
		`"required":["query"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}}`)
}

func named(before string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	text := before + strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text + "."
}

var callDefinition = json.RawMessage(`{"name":"` + callTool + `","title":"Call a tool",` +
	`"description":"Calls a tool that ` + findTools + ` has found.","inputSchema":{"type":"object","properties":{` +
	`"name":{"type":"string","description":"the tool's name, as found"},` +
	`"arguments":{"type":"object","description":"its arguments, as its inputSchema has them"}},` +
	`"required":["name"]},"annotations":{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":true}}`)

// modeOf reads `compact` in the URL's query: alone, `1` or `true`, or else `0` or `false`.
func modeOf(r *http.Request) (mode, *wire.Error) {
	if r.URL.RawQuery == "" {
		return modeUnsaid, nil
	}
	values, said := r.URL.Query()["compact"]
	switch {
	case !said:
		return modeUnsaid, nil
	case len(values) == 1 && (values[0] == "" || values[0] == "1" || values[0] == "true"):
		return modeCompact, nil
	case len(values) == 1 && (values[0] == "0" || values[0] == "false"):
		return modeListed, nil
	}
	return modeUnsaid, wire.Errorf(CodeInvalidRequest, "compact in the url is true or false, once; it is %s", quoteShort(strings.Join(values, ", ")))
}

// serveCompact answers a call of one of compact mode's own tools.
func (c *call) serveCompact(ctx context.Context, snapshot *snapshot, name string) ([][]byte, *wire.Error) {
	arguments, _ := wire.Get(c.message.Params, "arguments")
	if name == findTools {
		return c.find(snapshot.compact, arguments)
	}
	raw, _ := wire.Get(arguments, "name")
	wanted, ok := wire.String(raw)
	if !ok {
		return nil, wire.Errorf(CodeInvalidParams, `%s needs a string "name" among its arguments; %s has the names`, callTool, findTools)
	}
	found, ok := snapshot.compact.tools.routes[wanted]
	if !ok {
		return nil, snapshot.unknownTool(wanted, findTools)
	}
	own, failure := ownArguments(arguments)
	if failure != nil {
		return nil, failure
	}
	params := wire.Set(c.message.Params, "name", wire.Quote(found.name))
	if own == nil {
		return c.relay(ctx, found, wire.Delete(params, "arguments"))
	}
	return c.relay(ctx, found, wire.Set(params, "arguments", own))
}

// ownArguments are those of the tool that is called through call-tool; nil if there are none. Models write them as a
// string that holds JSON now and then, which can mean nothing else.
func ownArguments(arguments json.RawMessage) (json.RawMessage, *wire.Error) {
	own, _ := wire.Get(arguments, "arguments")
	if text, ok := wire.String(own); ok && json.Valid([]byte(text)) {
		own = json.RawMessage(text)
	}
	switch wire.Kind(own) {
	case 0, 'n':
		return nil, nil
	case '{':
		return own, nil
	}
	return nil, wire.Errorf(CodeInvalidParams, `the "arguments" of %s must be an object: those of the tool that is called`, callTool)
}

// find answers find-tools: the best ones with their definitions, others by name.
func (c *call) find(from *compact, arguments json.RawMessage) ([][]byte, *wire.Error) {
	raw, _ := wire.Get(arguments, "query")
	query, ok := wire.String(raw)
	if !ok || len(query) > maxQuery {
		return nil, wire.Errorf(CodeInvalidParams, `%s needs a string "query" of at most %d bytes among its arguments`, findTools, maxQuery)
	}
	limit := defaultFound
	if raw, ok := wire.Get(arguments, "limit"); ok && wire.Kind(raw) != 'n' {
		if json.Unmarshal(raw, &limit) != nil || limit < 1 {
			return nil, wire.Errorf(CodeInvalidParams, `the "limit" of %s is a number from 1 to %d`, findTools, maxFound)
		}
	}
	raw, _ = wire.Get(arguments, "server")
	server, _ := wire.String(raw)
	text := found(from.index().search(query, server), min(limit, maxFound))
	result := append(wire.AppendString([]byte(`{"content":[{"type":"text","text":`), text), `}]`...)
	if c.modern() {
		return [][]byte{append(result, c.endpoint.l.modernTail(false)...)}, nil
	}
	return [][]byte{append(result, '}')}, nil
}

// found writes the matches, best first, as JSON for a model to read.
func found(matches []*indexed, limit int) string {
	text := []byte(`{"tools":[`)
	given, size := 0, 0
	for _, tool := range matches {
		raw := tool.shown()
		if given == limit || given > 0 && size+len(raw) > maxFoundBytes {
			break
		}
		if given > 0 {
			text = append(text, ',')
		}
		text = append(text, raw...)
		given, size = given+1, size+len(raw)
	}
	text = append(text, ']')
	for i, tool := range matches[given:min(len(matches), given+maxFoundNames)] {
		if i == 0 {
			text = append(text, `,"more":[`...)
		} else {
			text = append(text, ',')
		}
		text = wire.AppendString(text, tool.name)
	}
	if len(matches) > given {
		text = append(text, ']')
	}
	text = strconv.AppendInt(append(text, `,"matched":`...), int64(len(matches)), 10)
	if len(matches) == 0 {
		text = append(text, `,"note":"no tool matches; use other words, or an empty query for all names"`...)
	}
	return string(append(text, '}'))
}
