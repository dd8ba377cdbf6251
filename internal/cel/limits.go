package cel

import (
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// programOptions leave out the counting of cost, which takes longer than most expressions, where
// there is nothing to count.
func (c *Compiler) programOptions(tree *ast.AST) []cel.ProgramOption {
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	if c.isBounded(tree) {
		return options
	}
	return append(options,
		cel.CostTracking(estimator{c.options}), cel.CostLimit(c.options.Cost), cel.CustomDecoratorV2(sizeLimit(c.options.Size)))
}

// ElementSize is how many bytes an element of a list or map takes, about.
const ElementSize = 16

// bounded are the functions whose work and result are bounded by the sizes of their arguments,
// added up.
var bounded = map[string]bool{
	operators.Equals: true, operators.NotEquals: true, operators.Less: true, operators.LessEquals: true,
	operators.Greater: true, operators.GreaterEquals: true, operators.In: true, operators.OldIn: true,
	operators.LogicalAnd: true, operators.LogicalOr: true, operators.LogicalNot: true, operators.Conditional: true,
	operators.Index: true, operators.OptIndex: true, operators.OptSelect: true, operators.Negate: true,
	operators.Add: true, operators.Subtract: true, operators.Multiply: true, operators.Divide: true, operators.Modulo: true,
	"size": true, "startsWith": true, "endsWith": true, "contains": true, "matches": true, "orValue": true, "hasValue": true,
	"timestamp": true, "duration": true, "string": true, "int": true, "uint": true, "double": true, "bool": true,
	"@since": true, "UnixSecond": true, "Quantity": true, // of package expression
}

// isBounded reports whether the work of an expression is bounded by its length and what it is
// given.
func (c *Compiler) isBounded(tree *ast.AST) bool {
	root := ast.NavigateAST(tree)
	if c.options.LinearMacros {
		return isLinear(root, "") && len(ast.MatchDescendants(root, builds)) == 0
	}
	return len(ast.MatchDescendants(root, func(e ast.NavigableExpr) bool {
		return e.Kind() == ast.ComprehensionKind || e.Kind() == ast.CallKind && !bounded[e.AsCall().FunctionName()]
	})) == 0
}

// builds reports whether an expression makes a list, a map or a longer text.
func builds(e ast.NavigableExpr) bool {
	switch e.Kind() {
	case ast.ListKind:
		return e.AsList().Size() > 0
	case ast.MapKind, ast.StructKind:
		return true
	case ast.CallKind:
		isNumber := slices.Contains([]types.Kind{types.IntKind, types.UintKind, types.DoubleKind}, e.Type().Kind())
		return e.AsCall().FunctionName() == operators.Add && !isNumber
	}
	return false
}

// isLinear reports whether each macro within another goes over a part of the other's element, as
// exists over the rows of a result does, so that no element is looked at twice by one macro. Inner
// is the variable of the macro around e.
func isLinear(e ast.NavigableExpr, inner string) bool {
	within := inner
	if e.Kind() == ast.ComprehensionKind {
		c := e.AsComprehension()
		root, ok := pathRoot(unsorted(c.IterRange()))
		if !ok || c.HasIterVar2() || inner != "" && root != inner {
			return false
		}
		within = c.IterVar()
	}
	return !slices.ContainsFunc(e.Children(), func(child ast.NavigableExpr) bool { return !isLinear(child, within) })
}

// pathRoot is the variable that a chain of fields begins with.
func pathRoot(e ast.Expr) (string, bool) {
	for e.Kind() == ast.SelectKind && !e.AsSelect().IsTestOnly() {
		e = e.AsSelect().Operand()
	}
	if e.Kind() != ast.IdentKind {
		return "", false
	}
	return e.AsIdent(), true
}

// leastCost is what an evaluation costs whatever the values are.
func (c *Compiler) leastCost(checked *cel.Ast) uint64 {
	if !c.options.LinearMacros {
		return 0
	}
	estimate, err := c.env.EstimateCost(checked, estimator{})
	if err != nil {
		return 0
	}
	return estimate.Min
}

// estimator knows the costs of functions of our own.
type estimator struct{ options Options }

// CallCost implements interpreter.ActualCostEstimator; nil leaves it to cel-go.
func (e estimator) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	var cost uint64
	switch {
	case slices.Contains(e.options.Builders, function):
		cost = buildingCost(result)
	case function != sortedName:
		return nil
	case !e.options.LinearMacros:
		cost = sortingCost(args[0])
	}
	return &cost
}

func buildingCost(v ref.Val) uint64 { return uint64(valueSize(v, 1<<30)/10 + 1) }

// sortingCost is the number of the elements for lists and maps of the object. What an expression
// made may be far larger than any object, because parts of it can be shared, and counts in full.
func sortingCost(v ref.Val) uint64 {
	switch x := v.(type) {
	case jsonList:
		return uint64(len(x)) + 1
	case jsonMap:
		return uint64(len(x)) + 1
	}
	return uint64(valueSize(v, 1<<30)/10 + 1)
}

// EstimateSize implements checker.CostEstimator: every value may be empty.
func (estimator) EstimateSize(checker.AstNode) *checker.SizeEstimate { return nil }

// EstimateCallCost implements checker.CostEstimator.
func (estimator) EstimateCallCost(function, _ string, _ *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	if function != sortedName {
		return nil
	}
	return &checker.CallEstimate{ResultSize: args[0].ComputedSize()}
}

// sizeLimit makes too large a result of + or of a list or map literal an error. Without it a few
// nested macros double a value until comparing or printing it takes for ever, and CEL counts the
// cost of a call only after it.
func sizeLimit(limit int) interpreter.InterpretableDecoratorV2 {
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		switch node := i.(type) {
		case interpreter.InterpretableConstructor:
			return limitedConstructor{node, limit}, nil
		case interpreter.InterpretableCall:
			if node.Function() == operators.Add {
				return limitedSum{node, limit}, nil
			}
		}
		return i, nil
	}
}

type limitedConstructor struct {
	interpreter.InterpretableConstructor
	limit int
}

func (c limitedConstructor) Exec(f *interpreter.ExecutionFrame) ref.Val {
	return limited(c.InterpretableConstructor.Exec(f), c.limit)
}

func (c limitedConstructor) Eval(a interpreter.Activation) ref.Val {
	return limited(c.InterpretableConstructor.Eval(a), c.limit)
}

type limitedSum struct {
	interpreter.InterpretableCall
	limit int
}

func (c limitedSum) Exec(f *interpreter.ExecutionFrame) ref.Val {
	return c.limited(c.InterpretableCall.Exec(f))
}

func (c limitedSum) Eval(a interpreter.Activation) ref.Val {
	return c.limited(c.InterpretableCall.Eval(a))
}

// limited counts the elements of accumulated + [element], as in the expansion of map: the right
// side has been measured, and measuring the left one at each element would take square time.
func (c limitedSum) limited(v ref.Val) ref.Val {
	list, isList := v.(traits.Lister)
	if _, literal := c.Args()[1].(interpreter.InterpretableConstructor); !literal || !isList {
		return limited(v, c.limit)
	}
	if n, _ := list.Size().(types.Int); int(n) > c.limit/ElementSize {
		return TooLarge(c.limit)
	}
	return v
}

func limited(v ref.Val, limit int) ref.Val {
	if valueSize(v, limit) > limit {
		return TooLarge(limit)
	}
	return v
}

// TooLarge is the error of a value over a limit, in bytes.
func TooLarge(limit int) ref.Val {
	return types.NewErr("a value is larger than %d bytes", limit)
}

// valueSize is about the size of a value in bytes. It stops counting soon after limit.
func valueSize(v ref.Val, limit int) int {
	switch x := v.(type) {
	case types.String:
		return ElementSize + len(x)
	case types.Bytes:
		return ElementSize + len(x)
	case traits.Lister:
		return elementsSize(x.Iterator(), limit, func(e ref.Val) int { return valueSize(e, limit) })
	case traits.Mapper:
		return elementsSize(x.Iterator(), limit, func(k ref.Val) int {
			e, _ := x.Find(k)
			return valueSize(k, limit) + valueSize(e, limit)
		})
	}
	return ElementSize
}

func elementsSize(it traits.Iterator, limit int, size func(ref.Val) int) int {
	n := ElementSize
	for n <= limit && it.HasNext() == types.True {
		n += size(it.Next())
	}
	return n
}
