package expression

import (
	"cmp"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/stagecraft-go/stagecraft/internal/cel"
	"github.com/stagecraft-go/stagecraft/internal/object"
)

// Reads returns what the fields of self hold that the expression names, each once, in the order of
// the text: nil where there is no such field. It is for explanations of a result.
func (p *CEL) Reads(s *Scope) []any {
	values := []any{}
	for _, path := range readsOf(p.program) {
		v, _ := object.Get(s.Object, path...)
		values = append(values, v)
	}
	return values
}

// readsOf lists the longest paths from self in an expression.
func readsOf(p *cel.Program) (paths [][]string) {
	found := ast.MatchDescendants(ast.NavigateAST(p.Written()), func(e ast.NavigableExpr) bool {
		path, ok := pathOf(e)
		if parent, below := e.Parent(); ok && below && len(path) > 0 {
			up, longer := pathOf(parent)
			ok = !longer || len(up) <= len(path)
		}
		return ok && len(path) > 0
	})
	slices.SortStableFunc(found, func(a, b ast.NavigableExpr) int { return cmp.Compare(p.Place(a), p.Place(b)) })
	for _, e := range found {
		path, _ := pathOf(e)
		if !slices.ContainsFunc(paths, func(other []string) bool { return slices.Equal(other, path) }) {
			paths = append(paths, path)
		}
	}
	return paths
}

// pathOf returns the fields that lead from self to e. It is false if e is anything but self or a
// field below it.
func pathOf(e ast.Expr) ([]string, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return nil, e.AsIdent() == "self"
	case ast.SelectKind:
		return below(e.AsSelect().Operand(), e.AsSelect().FieldName())
	case ast.CallKind:
		if name, ok := keyOf(e.AsCall()); ok {
			return below(e.AsCall().Args()[0], name)
		}
	}
	return nil, false
}

func below(operand ast.Expr, name string) ([]string, bool) {
	path, ok := pathOf(operand)
	return append(path, name), ok
}

// keyOf returns the key of self["key"], self[?"key"] and self.?key.
func keyOf(call ast.CallExpr) (string, bool) {
	switch call.FunctionName() {
	case operators.Index, operators.OptIndex, operators.OptSelect:
		if arg := call.Args()[1]; arg.Kind() == ast.LiteralKind {
			key, ok := arg.AsLiteral().(types.String)
			return string(key), ok
		}
	}
	return "", false
}
