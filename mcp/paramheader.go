package mcp

import (
	"bytes"
	"encoding/json"
	"math/big"
	"net/http"

	"github.com/traposd/traposd/mcp/mirror"
	"github.com/traposd/traposd/mcp/wire"
)

// checkParams holds the `Mcp-Param-…` headers of a tool call against its arguments, where the tool's schema says that they
// are to be repeated (2026-07-28, transports, "Custom Headers from Tool Parameters").
func checkParams(r *http.Request, tool target, params json.RawMessage) *wire.Error {
	if !bytes.Contains(tool.raw, []byte(`"x-mcp-header"`)) {
		return nil
	}
	schema, _ := wire.Get(tool.raw, "inputSchema")
	arguments, _ := wire.Get(params, "arguments")
	for _, p := range mirror.Params(schema) {
		value := p.Value(arguments)
		if failure := checkParam(r, mirror.ParamPrefix+p.Header, value, value != nil && wire.Kind(value) != 'n'); failure != nil {
			return failure
		}
	}
	return nil
}

func checkParam(r *http.Request, header string, value json.RawMessage, has bool) *wire.Error {
	header = http.CanonicalHeaderKey(header)
	if !has {
		if len(r.Header[header]) > 0 {
			return wire.Errorf(CodeHeaderMismatch, "header %s is there, but the argument is not", header)
		}
		return nil
	}
	got, failure := oneHeader(r, header)
	if failure != nil {
		return failure
	}
	decoded, ok := mirror.Decode(got)
	if !ok || !sameValue(decoded, value) {
		return wire.Errorf(CodeHeaderMismatch, "header %s is %s, but the argument says something else", header, quoteShort(got))
	}
	return nil
}

// sameValue compares a header with a JSON value: numbers as numbers, the rest as text.
func sameValue(header string, value json.RawMessage) bool {
	switch wire.Kind(value) {
	case '"':
		text, _ := wire.String(value)
		return text == header
	case '0':
		const longest = 40 // digits: the rule allows 53 bits, and a number like 1e999999999 costs as much as it says
		if len(header) > longest || len(value) > longest || bytes.ContainsAny(value, "eE") {
			return header == string(value)
		}
		a, ok1 := new(big.Rat).SetString(header)
		b, ok2 := new(big.Rat).SetString(string(value))
		return ok1 && ok2 && a.Cmp(b) == 0
	}
	return header == string(value)
}
