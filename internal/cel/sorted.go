package cel

import (
	"cmp"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// sortedName is the function that macros have put around what they go over. Its name cannot be
// written.
const sortedName = "@sorted"

var sortedFunction = cel.Function(sortedName,
	cel.Overload("@sorted_any", []*types.Type{types.NewTypeParamType("T")}, types.NewTypeParamType("T"), cel.UnaryBinding(sorted)))

// sortRanges puts @sorted around what macros go over: Go has no order of the keys of a map.
func sortRanges(tree *ast.AST) {
	factory := ast.NewExprFactory()
	next := ast.MaxID(tree)
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.ComprehensionKind {
			return
		}
		c := e.AsComprehension()
		id := next
		next++
		if place, ok := tree.SourceInfo().GetOffsetRange(c.IterRange().ID()); ok {
			tree.SourceInfo().SetOffsetRange(id, place)
		}
		sorted := factory.NewCall(id, sortedName, factory.CopyExpr(c.IterRange()))
		e.SetKindCase(factory.NewComprehensionTwoVar(e.ID(), sorted, c.IterVar(), c.IterVar2(), c.AccuVar(),
			c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()))
	}))
}

// unsorted takes away what sortRanges put around an expression.
func unsorted(e ast.Expr) ast.Expr {
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == sortedName {
		return e.AsCall().Args()[0]
	}
	return e
}

// sorted is a map that is iterated in the order of its keys, or any other value as it is.
func sorted(v ref.Val) ref.Val {
	switch m := v.(type) {
	case jsonMap: // is so itself
	case traits.Mapper:
		return sortedMap{m}
	}
	return v
}

type sortedMap struct{ traits.Mapper }

// Iterator implements traits.Iterable.
func (m sortedMap) Iterator() traits.Iterator {
	var keys []ref.Val
	for it := m.Mapper.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortFunc(keys, compareKeys)
	return types.NewRefValList(types.DefaultTypeAdapter, keys).Iterator()
}

func compareKeys(a, b ref.Val) int {
	if c := cmp.Compare(a.Type().TypeName(), b.Type().TypeName()); c != 0 {
		return c
	}
	order, _ := a.(traits.Comparer)
	if order == nil {
		return 0
	}
	c, _ := order.Compare(b).(types.Int)
	return int(c)
}
