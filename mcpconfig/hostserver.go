package mcpconfig

import (
	"slices"
	"strings"
)

// hostServers takes over the servers that the host gives in Go. They are held to the rules of the file, but may allow
// themselves plaintext credentials.
func (l *loader) hostServers() {
	if len(l.Servers) == 0 {
		return
	}
	s := source{status: FileStatus{Scope: ScopeSupplied, Exists: true, OK: true}}
	names := map[string]bool{}
	for _, server := range l.Servers {
		server.Source.Scope, server.Source.Workspace = ScopeSupplied, ""
		server.LastGood, server.Hidden, server.Shadows, server.ShadowedBy = false, false, nil, Source{}
		server.Env, server.Headers = slices.Clone(server.Env), slices.Clone(server.Headers)
		slices.SortFunc(server.Env, func(a, b EnvVar) int { return strings.Compare(a.Name, b.Name) })
		slices.SortFunc(server.Headers, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
		field, message := l.hostProblem(server)
		if names[server.Name] {
			field, message = "", "supplied twice: names must differ"
		}
		if message != "" {
			l.problems = append(l.problems, Problem{
				Severity: SeverityError, Path: server.Source.Path, Scope: ScopeSupplied,
				Server: server.Name, Field: field, Message: message,
			})
			if names[server.Name] {
				continue
			}
			server.Invalid = true
		}
		server.show()
		names[server.Name] = true
		s.servers = append(s.servers, server)
	}
	slices.SortFunc(s.servers, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	l.set.base = append(l.set.base, len(l.set.sources))
	l.set.sources = append(l.set.sources, s)
}

// show sets what may be shown of a server that was not read from a file.
func (s *Server) show() {
	s.shownCommand, s.shownURL = Secret{}, Secret{}
	switch {
	case s.Invalid:
	case s.Transport == TransportStdio:
		s.shownCommand = s.Command
	default:
		s.shownURL = NewSecret(maskedURL(s.URL.Reveal()))
	}
}

// hostProblem says which field of a server is wrong and how, or nothing.
func (l *loader) hostProblem(s Server) (field, message string) {
	switch {
	case strings.TrimSpace(s.Name) == "":
		return "", "an empty name: give the server one"
	case strings.Contains(s.Name, "__"):
		return "", "two underscores (__) in a name: they separate server and tool"
	case s.Transport == TransportStdio:
		if strings.TrimSpace(s.Command.Reveal()) == "" {
			return "command", "no command: it is blank"
		}
		for _, variable := range s.Env {
			if !environmentName(variable.Name) {
				return "env", "the name of a variable is not allowed"
			}
		}
		return "", ""
	case s.Transport != TransportSSE && s.Transport != TransportHTTP:
		return "type", "unknown transport"
	}
	for _, header := range s.Headers {
		if !headerName(header.Name) || !headerValue(header.Value.Reveal()) {
			return "headers", "a header that is not valid for HTTP"
		}
	}
	if message := checkURL(&s, l.Self); message != "" {
		return "url", message
	}
	return "", ""
}
