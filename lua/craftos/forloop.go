package craftos

import (
	"reflect"

	"github.com/yuin/gopher-lua/ast"
)

// mendLoops works around two errors of gopher-lua 1.1.2 in loops over anything but a single call, like
// `for line in file.readLine do`: the iterator's arguments that are not given are whatever is in their registers instead of
// nil, and an expression of several parts is computed in the wrong ones. The list goes into three local variables first.
func mendLoops(tree []ast.Stmt) {
	mendLoopsIn(reflect.ValueOf(tree))
}

func mendLoopsIn(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			mendLoopsIn(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			mendLoopsIn(v.Index(i))
			if loop, ok := v.Index(i).Interface().(*ast.GenericForStmt); ok && !takesAll(loop.Exprs) {
				v.Index(i).Set(reflect.ValueOf(mended(loop)))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			mendLoopsIn(v.Field(i))
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
