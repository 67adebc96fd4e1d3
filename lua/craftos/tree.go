package craftos

import (
	"errors"
	"reflect"

	"github.com/yuin/gopher-lua/ast"
)

// maxSyntaxLevels bounds how deep a program's parts are nested, since the compiler follows them by recursion, and a Go stack
// that is full ends the process. Lua allows some 200 levels, but counts a long sum as one where its tree here has many.
const maxSyntaxLevels = 20_000

var errTooDeep = errors.New("chunk has too many syntax levels")

// mender goes through a program's tree before it is compiled.
//
// It works around two errors of gopher-lua 1.1.2 in loops over anything but a single call, like
// `for line in file.readLine do`: the iterator's arguments that are not given are whatever is in their registers instead of
// nil, and an expression of several parts is computed in the wrong ones. The list goes into three local variables first.
type mender struct {
	levels  int
	tooDeep bool
}

// mend changes the tree in place. It fails with errTooDeep for a program that must not be compiled.
func mend(tree []ast.Stmt) error {
	var m mender
	m.visit(reflect.ValueOf(tree))
	if m.tooDeep {
		return errTooDeep
	}
	return nil
}

func (m *mender) visit(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			m.visit(v.Elem())
		}
	case reflect.Pointer:
		m.levels++
		if m.levels > maxSyntaxLevels {
			m.tooDeep = true
		}
		if !v.IsNil() && !m.tooDeep {
			m.visit(v.Elem())
		}
		m.levels--
	case reflect.Slice:
		for i := range v.Len() {
			m.visit(v.Index(i))
			if loop, ok := v.Index(i).Interface().(*ast.GenericForStmt); ok && !takesAll(loop.Exprs) {
				v.Index(i).Set(reflect.ValueOf(mended(loop)))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			m.visit(v.Field(i))
		}
	default: // a name, a number, a line
	}
}

// mended is `do local g, s, c = LIST for NAMES in g, s, c do … end end`, with names that no program can have.
func mended(loop *ast.GenericForStmt) ast.Stmt {
	names := []string{"(iterator)", "(state)", "(control)"}
	first := &ast.LocalAssignStmt{Names: names, Exprs: loop.Exprs}
	first.SetLine(loop.Line())
	loop.Exprs = nil
	for _, name := range names {
		e := &ast.IdentExpr{Value: name}
		e.SetLine(loop.Line())
		loop.Exprs = append(loop.Exprs, e)
	}
	block := &ast.DoBlockStmt{Stmts: []ast.Stmt{first, loop}}
	block.SetLine(loop.Line())
	block.SetLastLine(loop.LastLine())
	return block
}

// takesAll reports whether the list is one call, whose results become all three values.
func takesAll(list []ast.Expr) bool {
	if len(list) != 1 {
		return false
	}
	switch e := list[0].(type) {
	case *ast.FuncCallExpr:
		return !e.AdjustRet
	case *ast.Comma3Expr:
		return !e.AdjustRet
	}
	return false
}
