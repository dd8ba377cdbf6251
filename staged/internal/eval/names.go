package eval

import (
	"maps"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// names finds the free variables and the string literals of an expression.
func names(tree *ast.AST) (variables, literals []string) {
	w := walker{free: map[string]bool{}, text: map[string]bool{}}
	w.walk(tree.Expr(), nil)
	return slices.Sorted(maps.Keys(w.free)), slices.Sorted(maps.Keys(w.text))
}

type walker struct{ free, text map[string]bool }

// walk visits e, where the names in bound are those of macros.
func (w walker) walk(e ast.Expr, bound []string) {
	switch e.Kind() {
	case ast.IdentKind:
		if name := e.AsIdent(); !slices.Contains(bound, name) {
			w.free[name] = true
		}
	case ast.LiteralKind:
		if s, ok := e.AsLiteral().(types.String); ok {
			w.text[string(s)] = true
		}
	case ast.ComprehensionKind:
		w.comprehension(e.AsComprehension(), bound)
	default:
		for _, child := range children(e) {
			w.walk(child, bound)
		}
	}
}

func (w walker) comprehension(c ast.ComprehensionExpr, bound []string) {
	w.walk(c.IterRange(), bound)
	w.walk(c.AccuInit(), bound)
	inner := append(slices.Clone(bound), c.AccuVar())
	w.walk(c.Result(), inner)
	inner = append(inner, c.IterVar(), c.IterVar2())
	w.walk(c.LoopCondition(), inner)
	w.walk(c.LoopStep(), inner)
}

// children are the direct parts of an expression that is no comprehension.
func children(e ast.Expr) []ast.Expr {
	switch e.Kind() {
	case ast.SelectKind:
		return []ast.Expr{e.AsSelect().Operand()}
	case ast.ListKind:
		return e.AsList().Elements()
	case ast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() {
			return append([]ast.Expr{call.Target()}, call.Args()...)
		}
		return call.Args()
	case ast.MapKind:
		var all []ast.Expr
		for _, entry := range e.AsMap().Entries() {
			all = append(all, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
		return all
	case ast.StructKind:
		var all []ast.Expr
		for _, field := range e.AsStruct().Fields() {
			all = append(all, field.AsStructField().Value())
		}
		return all
	}
	return nil
}
