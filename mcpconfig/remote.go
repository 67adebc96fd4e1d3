package mcpconfig

import (
	"slices"
	"strings"
)

// maxHeaders bounds the headers of one entry.
const maxHeaders = 256

// remote reads the fields of an entry that is reached by HTTP.
func (e *entryReader) remote() {
	e.headers()
	if v, given := e.field("allowPlaintextCredentials"); given && e.source.Scope == ScopeSupplied {
		e.server.AllowPlaintextCredentials = e.doc.kind(v) == 't'
	}
	v, given := e.field("url")
	if !given {
		if !e.means("url") {
			e.fail(e.key, "url", "no url: a server of this type needs one")
		}
		return
	}
	written, text, problem := e.expanded(v)
	if problem != "" {
		e.fail(v, "url", "%s", problem)
		return
	}
	e.server.URL = e.secret(strings.TrimSpace(text))
	if message := checkURL(e.server, e.self); message != "" {
		e.fail(v, "url", "%s", message)
		return
	}
	e.server.shownURL = e.secret(maskedURL(unexpanded(strings.TrimSpace(written))))
}

// checkURL says what is wrong with the url of a server, or nothing.
func checkURL(s *Server, self []string) string {
	u, ok := parseURL(s.URL.Reveal())
	switch {
	case !ok:
		return "must be an absolute http or https url, as in https://host/mcp"
	case pointsAt(u, self):
		return "points at traposd itself: a server cannot be its own upstream"
	case plaintext(u) && (len(s.Headers) > 0 || u.User != nil) && !s.AllowPlaintextCredentials:
		return "headers or a password would travel in plaintext to another host: use https, or a loopback address"
	}
	return ""
}

func (e *entryReader) headers() {
	v, given := e.field("headers")
	if !given {
		return
	}
	if e.doc.kind(v) != '{' {
		e.fail(v, "headers", `must be an object: { "Name": "value" }`)
		return
	}
	members, repeated, over := e.doc.object(v, maxHeaders, e.inner)
	e.inner = members
	if over {
		e.fail(v, "headers", "more than %d headers", maxHeaders)
		return
	}
	for _, twice := range repeated {
		if headerName(twice.name) {
			e.fail(twice.again, "headers."+keyField(twice.name), "%s", e.twice("given", twice.first))
		}
	}
	for i, m := range members {
		if !headerName(m.name) {
			// The name is not repeated: what is no name may be a value in the wrong place.
			e.fail(m.key, "headers", "the name of a header is not valid for HTTP: letters, digits and hyphens only")
			continue
		}
		sameName := func(earlier namedValue) bool { return strings.EqualFold(earlier.name, m.name) }
		if earlier := slices.IndexFunc(members[:i], sameName); earlier >= 0 {
			e.fail(m.key, "headers."+keyField(m.name), "%s", e.twice("given in another case", members[earlier].key))
			continue
		}
		e.header(m, len(members))
	}
	slices.SortFunc(e.server.Headers, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
}

// header reads one header of at most so many; null means none.
func (e *entryReader) header(m namedValue, most int) {
	if e.doc.kind(m.value) == 'n' {
		return
	}
	text, problem := e.scalar(m.value)
	if problem == "" && !headerValue(text) {
		problem = "not valid for HTTP: a line break or another control character is in it"
	}
	if problem != "" {
		e.fail(m.value, "headers."+keyField(m.name), "%s", problem)
		return
	}
	if e.server.Headers == nil {
		e.server.Headers = make([]Header, 0, most)
	}
	e.server.Headers = append(e.server.Headers, Header{Name: m.name, Value: e.secret(text)})
}
