package cel

import (
	"cmp"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// sortedName is the function that wraps the range of each macro. An expression cannot contain this
// name.
const sortedName = "@sorted"

var sortedFunction = cel.Function(sortedName,
	cel.Overload("@sorted_any", []*types.Type{types.NewTypeParamType("T")}, types.NewTypeParamType("T")))

// keyName is the function that wraps keys that are computed, so that a long one is paid for.
const keyName = "@key"

var keyFunction = cel.Function(keyName,
	cel.Overload("@key_any", []*types.Type{types.NewTypeParamType("T")}, types.NewTypeParamType("T")))

// wrapKeys puts @key around the keys of maps and lists that are not literals.
func wrapKeys(tree *ast.AST) {
	factory := ast.NewExprFactory()
	next := ast.MaxID(tree)
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		c := e.AsCall()
		isIndex := c.FunctionName() == operators.Index || c.FunctionName() == operators.OptIndex
		if !isIndex || len(c.Args()) != 2 || c.Args()[1].Kind() == ast.LiteralKind {
			return
		}
		of, key := c.Args()[0], c.Args()[1]
		id := next
		next++
		if place, ok := tree.SourceInfo().GetOffsetRange(key.ID()); ok {
			tree.SourceInfo().SetOffsetRange(id, place)
		}
		wrapped := factory.NewCall(id, keyName, factory.CopyExpr(key))
		e.SetKindCase(factory.NewCall(e.ID(), c.FunctionName(), factory.CopyExpr(of), wrapped))
	}))
}

// computedKey is a call of @key.
type computedKey struct {
	interpreter.InterpretableV2
	key interpreter.InterpretableV2
}

func (k computedKey) Eval(a cel.Activation) ref.Val { return k.Exec(interpreter.AsFrame(a)) }

func (k computedKey) Exec(f *interpreter.ExecutionFrame) ref.Val {
	v := k.key.Exec(f)
	if n := len(textOf(v)) / bytesPerStep; n > 0 {
		budgetOf(f).spend(4*n, k.ID())
	}
	return v
}

// sortRanges puts @sorted around the ranges of macros, because Go does not order the keys of a map.
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

// sortedRange is the range of a macro.
type sortedRange struct {
	interpreter.InterpretableV2 // the call of @sorted
	over                        interpreter.InterpretableV2
}

func (r sortedRange) Eval(a cel.Activation) ref.Val { return r.Exec(interpreter.AsFrame(a)) }

func (r sortedRange) Exec(f *interpreter.ExecutionFrame) ref.Val {
	v := r.over.Exec(f)
	m, ok := v.(traits.Mapper)
	if !ok {
		return v
	}
	budgetOf(f).spend(intOf(m.Size()), r.ID())
	if _, ok := m.(jsonMap); ok {
		return m // a sorted map already
	}
	return sortedMap{m}
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
