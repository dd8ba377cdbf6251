package eval

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

// maxSize is how large a value an expression may build, in bytes, about.
const maxSize = 1 << 20

// cell is how many bytes an element of a list or map takes, about.
const cell = 16

// isBounded reports whether the work of an evaluation grows no faster than what it is given.
func isBounded(e ast.Expr) bool { return isLinear(e, "") && !builds(e) }

// programOptions count the cost only where the work is not bounded, and sizes only where an expression builds something.
func (c *Compiler) programOptions(e ast.Expr) []cel.ProgramOption {
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	if isBounded(e) {
		return options
	}
	options = append(options, cel.CostTracking(nil), cel.CostLimit(c.cost))
	if builds(e) {
		options = append(options, cel.CustomDecoratorV2(limitSizes))
	}
	return options
}

// builds reports whether an expression makes lists, maps or longer texts.
func builds(e ast.Expr) (yes bool) {
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ListKind:
			yes = yes || e.AsList().Size() > 0
		case ast.MapKind, ast.StructKind:
			yes = true
		case ast.CallKind:
			call := e.AsCall()
			yes = yes || call.FunctionName() == operators.Add && !slices.ContainsFunc(call.Args(), isNumeric)
		}
	}))
	return yes
}

// isNumeric recognises numbers by their form. What they are added to is a number too.
func isNumeric(e ast.Expr) bool {
	switch e.Kind() {
	case ast.LiteralKind:
		return slices.Contains([]ref.Type{types.IntType, types.UintType, types.DoubleType}, e.AsLiteral().Type())
	case ast.CallKind:
		return slices.Contains([]string{"@num", "size", "int", "uint", "double"}, e.AsCall().FunctionName())
	}
	return false
}

// isLinear reports whether each macro within another goes over a part of the other's element, as exists over the rows of a
// result does, so that no element is looked at twice by one macro. Inner is the variable of the macro around e.
func isLinear(e ast.Expr, inner string) bool {
	if e.Kind() != ast.ComprehensionKind {
		for _, child := range children(e) {
			if !isLinear(child, inner) {
				return false
			}
		}
		return true
	}
	c := e.AsComprehension()
	root, ok := pathRoot(c.IterRange())
	if !ok || c.HasIterVar2() || inner != "" && root != inner {
		return false
	}
	return isLinear(c.LoopCondition(), c.IterVar()) && isLinear(c.LoopStep(), c.IterVar()) && isLinear(c.Result(), inner)
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
	estimate, err := c.env.EstimateCost(checked, smallest{})
	if err != nil {
		return 0
	}
	return estimate.Min
}

// smallest takes every value for empty.
type smallest struct{}

func (smallest) EstimateSize(checker.AstNode) *checker.SizeEstimate { return nil }

func (smallest) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

// limitSizes makes too large a result of + or of a list or map literal an error: nested macros could double a value until
// comparing it takes for ever, and cel-go counts the cost of a call only after it.
func limitSizes(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	switch node := i.(type) {
	case interpreter.InterpretableConstructor:
		return limitedConstructor{node}, nil
	case interpreter.InterpretableCall:
		if node.Function() == operators.Add {
			return limitedSum{node, appends(node)}, nil
		}
	}
	return i, nil
}

// appends recognises a sum as in the expansion of map: what was gathered + [element].
func appends(sum interpreter.InterpretableCall) bool {
	args := sum.Args()
	if len(args) != 2 {
		return false
	}
	_, ok := args[1].(interpreter.InterpretableConstructor)
	return ok
}

type limitedSum struct {
	interpreter.InterpretableCall
	appends bool // only the length of a list is limited: to measure all of it at every element would take square time, and the element was measured
}

func (c limitedSum) Exec(f *interpreter.ExecutionFrame) ref.Val {
	return c.limited(c.InterpretableCall.Exec(f))
}

func (c limitedSum) Eval(a interpreter.Activation) ref.Val {
	return c.limited(c.InterpretableCall.Eval(a))
}

func (c limitedSum) limited(v ref.Val) ref.Val {
	if list, ok := v.(traits.Lister); ok && c.appends {
		if n, _ := list.Size().(types.Int); n <= maxSize/cell {
			return v
		}
	}
	return limited(v)
}

type limitedConstructor struct {
	interpreter.InterpretableConstructor
}

func (c limitedConstructor) Exec(f *interpreter.ExecutionFrame) ref.Val {
	return limited(c.InterpretableConstructor.Exec(f))
}

func (c limitedConstructor) Eval(a interpreter.Activation) ref.Val {
	return limited(c.InterpretableConstructor.Eval(a))
}

func limited(v ref.Val) ref.Val {
	if size(v) > maxSize {
		return types.NewErr("a value is larger than %d bytes", maxSize)
	}
	return v
}

// size is about the size of a value. It stops counting soon after maxSize.
func size(v ref.Val) int {
	switch x := v.(type) {
	case types.String:
		return cell + len(x)
	case types.Bytes:
		return cell + len(x)
	case traits.Lister:
		return sizes(x.Iterator(), size)
	case traits.Mapper:
		return sizes(x.Iterator(), func(k ref.Val) int {
			e, _ := x.Find(k)
			return size(k) + size(e)
		})
	}
	return cell
}

func sizes(it traits.Iterator, of func(ref.Val) int) int {
	n := cell
	for n <= maxSize && it.HasNext() == types.True {
		n += of(it.Next())
	}
	return n
}
