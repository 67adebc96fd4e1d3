package mcpconfig

import (
	_ "embed"
	"slices"
)

//go:embed mcp.schema.json
var schema []byte

// Schema returns a JSON Schema (draft 2020-12) of what is accepted, for editors. It says less than Load does: what an
// expansion comes to, and which of command and url an entry needs, only Load knows.
func Schema() []byte { return slices.Clone(schema) }
