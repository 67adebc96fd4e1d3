package upstream

import (
	"github.com/traposd/traposd/mcp"
	"github.com/traposd/traposd/mcp/mirror"
	"github.com/traposd/traposd/mcp/wire"
)

// learnHeaders notes which arguments of which tools are to be repeated in headers (2026-07-28, transports, "Custom Headers
// from Tool Parameters").
func (s *session) learnHeaders(tools []mcp.Definition) {
	if !s.modern() {
		return
	}
	all := map[string][]mirror.Param{}
	for _, tool := range tools {
		schema, _ := wire.Get(tool.Raw, "inputSchema")
		if found := mirror.Params(schema); len(found) > 0 {
			all[tool.Name] = found
		}
	}
	s.mu.Lock()
	s.headers = all
	s.mu.Unlock()
}

func (s *session) headersOf(tool string) []mirror.Param {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.headers[tool]
}
