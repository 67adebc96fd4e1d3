package mcp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/traposd/traposd/mcp/wire"
)

// Every code that is defined has its row in the documentation, once.
func TestEveryCodeIsDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "packaging", "doc", "listener.md"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := []string{"-32700", "-32600", "-32601", "-32602", "-32603"} // of package wire
	equal(t, "the first of those", wire.CodeParseError, -32700)
	ast.Inspect(file, func(n ast.Node) bool {
		if negative, ok := n.(*ast.UnaryExpr); ok && negative.Op == token.SUB {
			if literal, ok := negative.X.(*ast.BasicLit); ok {
				codes = append(codes, "-"+literal.Value)
			}
		}
		return true
	})
	if len(codes) < 20 {
		t.Fatalf("found %v", codes)
	}
	for _, code := range codes {
		equal(t, "rows of "+code, strings.Count(string(page), "\n| "+code+" | "), 1)
	}
}
