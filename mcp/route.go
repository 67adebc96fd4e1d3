package mcp

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/traposd/traposd/mcp/wire"
)

// serverURI is what stands before the URI of a resource that shares it with an earlier server's.
func serverURI(prefix string) string { return "server:" + prefix + "/" }

// resource gives the servers that may have the resource of that URI, the likeliest first: the one that lists it, else the
// one that it names (`server:<server>/…`), else those with a template that matches, else every server with
// resources, since a server may know URIs that it does not list.
func (s *snapshot) resource(uri string) []target {
	if found, ok := s.resources.routes[uri]; ok {
		return []target{found}
	}
	for i := range s.entries {
		if rest, ok := strings.CutPrefix(uri, serverURI(s.prefixes[i])); ok && s.entries[i].Server != nil {
			return []target{{entry: &s.entries[i], name: rest}}
		}
	}
	var matching []target
	for _, item := range s.templates.items {
		if found := s.templates.routes[item.Name]; matchesTemplate(found.name, uri) {
			matching = append(matching, target{entry: found.entry, name: uri})
		}
	}
	if len(matching) > 0 {
		return matching
	}
	for i := range s.entries {
		entry := &s.entries[i]
		if entry.Server == nil {
			continue
		}
		if parseServerCapabilities(entry.Capabilities).resources || len(entry.Resources)+len(entry.ResourceTemplates) > 0 {
			matching = append(matching, target{entry: entry, name: uri})
		}
	}
	return matching
}

// exposedURI is what clients call the resource that a server calls uri.
func (s *snapshot) exposedURI(serverID, uri string) string {
	if found, ok := s.resources.routes[uri]; ok && found.entry.ID != serverID {
		for i, entry := range s.entries {
			if entry.ID != serverID {
				continue
			}
			exposed := serverURI(s.prefixes[i]) + uri
			if _, ok := s.resources.routes[exposed]; ok {
				return exposed
			}
		}
	}
	return uri
}

// completion finds the server behind the `ref` of a `completion/complete`, and the ref as that server knows it.
func (s *snapshot) completion(ref json.RawMessage) (found target, own json.RawMessage, ok bool) {
	for _, way := range []struct {
		list *list
		key  string
	}{{s.prompts, "name"}, {s.templates, "uri"}, {s.resources, "uri"}} {
		raw, _ := wire.Get(ref, way.key)
		name, isString := wire.String(raw)
		if !isString {
			continue
		}
		if found, ok = way.list.routes[name]; ok {
			if found.name != name {
				ref = wire.Set(ref, way.key, wire.Quote(found.name))
			}
			return found, ref, true
		}
	}
	return target{}, nil, false
}

// maxTemplate bounds the templates that are matched: a longer one is never chosen.
const maxTemplate = 2048

// matchesTemplate reports whether the URI template (RFC 6570) can expand to uri. Simple expressions stop at the
// characters that separate the parts of a URI; those with an operator match anything.
func matchesTemplate(template, uri string) bool {
	if len(template) > maxTemplate {
		return false
	}
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	for rest := template; rest != ""; {
		literal, after, found := strings.Cut(rest, "{")
		pattern.WriteString(regexp.QuoteMeta(literal))
		if !found {
			break
		}
		expression, next, closed := strings.Cut(after, "}")
		if !closed || expression == "" {
			return false
		}
		if strings.ContainsRune("+#./;?&", rune(expression[0])) {
			pattern.WriteString(`(?s:.*)`)
		} else {
			pattern.WriteString(`[^/?#]*`)
		}
		rest = next
	}
	pattern.WriteString(`\z`)
	matcher, err := regexp.Compile(pattern.String())
	return err == nil && matcher.MatchString(uri)
}
