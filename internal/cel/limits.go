package expr

import (
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// programOptions leave out the counting of cost, which takes longer than most expressions, where there is nothing to count.
func (c *Compiler) programOptions(bounded bool) []cel.ProgramOption {
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	if bounded {
		return options
	}
	return append(options,
		cel.CostTracking(estimator{}), cel.CostLimit(c.options.Cost), cel.CustomDecoratorV2(sizeLimit(c.options.Size)))
}

// bounded are the functions whose work and result are bounded by the sizes of their arguments, added up.
var bounded = map[string]bool{
	operators.Equals: true, operators.NotEquals: true, operators.Less: true, operators.LessEquals: true,
	operators.Greater: true, operators.GreaterEquals: true, operators.In: true, operators.OldIn: true,
	operators.LogicalAnd: true, operators.LogicalOr: true, operators.LogicalNot: true, operators.Conditional: true,
	operators.Index: true, operators.OptIndex: true, operators.OptSelect: true, operators.Negate: true,
	operators.Add: true, operators.Subtract: true, operators.Multiply: true, operators.Divide: true, operators.Modulo: true,
	"size": true, "startsWith": true, "endsWith": true, "contains": true, "matches": true, "orValue": true, "hasValue": true,
	"timestamp": true, "duration": true, "string": true, "int": true, "uint": true, "double": true, "bool": true,
	"@since": true, "UnixSecond": true, "Quantity": true,
}

// isBounded reports that an expression repeats nothing, so that its work is bounded by its length and the object's size.
func isBounded(e ast.Expr) bool {
	ok := true
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ComprehensionKind:
			ok = false
		case ast.CallKind:
			ok = ok && bounded[e.AsCall().FunctionName()]
		}
	}))
	return ok
}

// estimator knows the costs of our own functions.
type estimator struct{}

// CallCost implements interpreter.ActualCostEstimator; nil leaves it to CEL.
func (estimator) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	var n uint64
	switch function {
	case "@replace", "@join":
		n = uint64(valueSize(result, 1<<30)/10 + 1)
	case "@sorted":
		n = sortingCost(args[0])
	default:
		return nil
	}
	return &n
}

// sortingCost is the number of the elements for lists and maps of the object. What an expression made may be far larger than any object, because parts
// of it can be shared, and counts in full.
func sortingCost(v ref.Val) uint64 {
	switch reflect.TypeOf(v) {
	case fieldList, fieldMap: // of which Value takes no time
		switch x := v.Value().(type) {
		case []any:
			return uint64(len(x)) + 1
		case map[string]any:
			return uint64(len(x)) + 1
		}
	}
	return uint64(valueSize(v, 1<<30)/10 + 1)
}

// fieldList and fieldMap are the types that CEL has for the lists and maps of an object.
var (
	fieldList = reflect.TypeOf(types.NewDynamicList(types.DefaultTypeAdapter, []any(nil)))
	fieldMap  = reflect.TypeOf(types.NewStringInterfaceMap(types.DefaultTypeAdapter, nil))
)

// sizeLimit makes too large a result of + or of a list or map literal an error. Without it a few nested macros double
// a value until comparing or printing it takes for ever, and CEL counts the cost of a call only after it.
func sizeLimit(limit int) interpreter.InterpretableDecoratorV2 {
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		switch node := i.(type) {
		case interpreter.InterpretableConstructor:
			return limitedConstructor{node, limit}, nil
		case interpreter.InterpretableCall:
			if node.Function() == operators.Add {
				return limitedSum{node, limit, addsLiteral(node)}, nil
			}
		}
		return i, nil
	}
}

// addsLiteral reports a sum as in the expansion of map: accumulated + [element].
func addsLiteral(sum interpreter.InterpretableCall) bool {
	args := sum.Args()
	if len(args) != 2 {
		return false
	}
	_, ok := args[1].(interpreter.InterpretableConstructor)
	return ok
}

type limitedSum struct {
	interpreter.InterpretableCall
	limit int
	// literal: the right side has been measured, and measuring the left one at each element would take square time.
	literal bool
}

func (c limitedSum) Exec(f *interpreter.ExecutionFrame) ref.Val {
	return c.limited(c.InterpretableCall.Exec(f))
}

func (c limitedSum) Eval(a interpreter.Activation) ref.Val {
	return c.limited(c.InterpretableCall.Eval(a))
}

func (c limitedSum) limited(v ref.Val) ref.Val {
	list, ok := v.(traits.Lister)
	if !ok || !c.literal {
		return limited(v, c.limit)
	}
	if n, _ := list.Size().(types.Int); times(cell, int(n)) > c.limit {
		return tooLarge(c.limit)
	}
	return v
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

func limited(v ref.Val, limit int) ref.Val {
	if valueSize(v, limit) > limit {
		return tooLarge(limit)
	}
	return v
}

func tooLarge(limit int) ref.Val {
	return types.NewErr("a value is larger than %d bytes", limit)
}

// valueSize is about the size of a value in bytes. It stops counting soon after limit.
func valueSize(v ref.Val, limit int) int {
	switch x := v.(type) {
	case types.String:
		return cell + len(x)
	case types.Bytes:
		return cell + len(x)
	case traits.Lister:
		return elementsSize(x.Iterator(), limit, func(e ref.Val) int { return valueSize(e, limit) })
	case traits.Mapper:
		return elementsSize(x.Iterator(), limit, func(k ref.Val) int {
			e, _ := x.Find(k)
			return valueSize(k, limit) + valueSize(e, limit)
		})
	}
	return cell
}

func elementsSize(it traits.Iterator, limit int, size func(ref.Val) int) int {
	n := cell
	for n <= limit && it.HasNext() == types.True {
		n += size(it.Next())
	}
	return n
}
