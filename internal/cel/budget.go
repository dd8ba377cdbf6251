package cel

import (
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// budgetName is the variable with the budget. An expression cannot contain this name.
const budgetName = "@budget"

// A budget is the remaining work of one evaluation, in steps of about 100 ns. It wraps the
// variables, so that every part of the program finds it.
type budget struct {
	cel.Activation
	left, size int
	over       int64 // the part of the expression that had to cost more
}

// ResolveName implements cel.Activation.
func (b *budget) ResolveName(name string) (any, bool) {
	if name == budgetName {
		return b, true
	}
	return b.Activation.ResolveName(name)
}

func budgetOf(f *interpreter.ExecutionFrame) *budget {
	v, _ := f.ResolveName(budgetName)
	return v.(*budget)
}

// spend subtracts steps from the budget for a part of the expression. If the budget has fewer
// steps, the evaluation ends, in the way in which cel-go ends an evaluation over its cost limit.
func (b *budget) spend(steps int, part int64) {
	if b.left -= steps; b.left < 0 {
		b.over = part
		panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded})
	}
}

// metered makes the parts of a program spend their costs before they work: a loop for each
// iteration, by the length of its body, and a call by its arguments.
type metered struct {
	calls map[string]*functions.Overload // by the names that cel-go finds them by
	turns map[int64]int                  // the cost of an iteration, by the step of the loop
	costs map[string]Cost                // of further functions
	limit int
}

func (c *Compiler) metered(tree *ast.AST) metered {
	m := metered{c.calls, map[int64]int{}, c.options.Costs, c.options.limit()}
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			step := e.AsComprehension().LoopStep()
			m.turns[step.ID()] = 1 + length(step)/8
		}
	}))
	return m
}

// length returns the number of parts of an expression.
func length(e ast.Expr) int {
	n := 0
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(ast.Expr) { n++ }))
	return n
}

// decorate implements interpreter.InterpretableDecoratorV2.
func (m metered) decorate(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	switch node := i.(type) {
	case interpreter.InterpretableConstructor:
		if !areConstant(node.InitVals()) { // cel-go makes constants once
			i = constructor{node}
		}
	case interpreter.InterpretableCall:
		call, err := m.call(node)
		if err != nil {
			return nil, err
		}
		i = call
	}
	if cost := m.turns[i.ID()]; cost > 0 {
		return turn{i, cost}, nil
	}
	return i, nil
}

// turn is one iteration of a loop.
type turn struct {
	interpreter.InterpretableV2
	cost int
}

func (t turn) Eval(a cel.Activation) ref.Val { return t.Exec(interpreter.AsFrame(a)) }

func (t turn) Exec(f *interpreter.ExecutionFrame) ref.Val {
	budgetOf(f).spend(t.cost, t.ID())
	return t.InterpretableV2.Exec(f)
}

// constructor makes a list or a map, and measures its size. Its parts can be shared: without a
// limit, a few loops could double a value until it is too large to compare or print.
type constructor struct {
	interpreter.InterpretableConstructor
}

func (c constructor) Eval(a cel.Activation) ref.Val { return c.Exec(interpreter.AsFrame(a)) }

func (c constructor) Exec(f *interpreter.ExecutionFrame) ref.Val {
	v, b := c.InterpretableConstructor.Exec(f), budgetOf(f)
	size := sizeOf(v, b.size)
	b.spend(1+size/(8*elementSize), c.ID())
	if size > b.size {
		return tooLarge(b.size)
	}
	return v
}

// call is a call that spends its cost. cel-go passes only arguments to functions, so the budget is
// the last argument.
func (m metered) call(node interpreter.InterpretableCall) (interpreter.InterpretableV2, error) {
	name, args := node.Function(), node.Args()
	switch {
	case name == sortedName:
		return sortedRange{node, args[0]}, nil
	case name == keyName:
		return computedKey{node, args[0]}, nil
	case name == overloads.Matches:
		return m.matches(node)
	}
	impl := m.implementation(node)
	if impl == nil || overloads.IsTypeConversionFunction(name) && areConstant(args) || name == operators.LogicalNot || comparesScalar(name, args) {
		return node, nil
	}
	cost := m.costs[name]
	if cost == nil {
		cost = costs[name]
	}
	if cost == nil {
		cost = shallow
	}
	return m.paying(node, name, cost, impl), nil
}

func (m metered) paying(
	node interpreter.InterpretableCall, name string, cost Cost, impl functions.FunctionOp,
) interpreter.InterpretableV2 {
	id, args := node.ID(), node.Args()
	last := len(args)
	pay := func(args ...ref.Val) ref.Val {
		b := args[last].(budgetValue).budget
		steps, size := cost(args[:last], b.left)
		b.spend(1+steps, id)
		if size > b.size {
			return tooLarge(b.size)
		}
		return impl(args[:last]...)
	}
	return interpreter.NewCall(id, name, node.OverloadID(), append(args[:last:last], budgetArgument{}), pay)
}

// areConstant reports whether all parts are values that are known when the program is made.
func areConstant(parts []interpreter.InterpretableV2) bool {
	return !slices.ContainsFunc(parts, func(i interpreter.InterpretableV2) bool {
		_, ok := i.(interpreter.InterpretableConst)
		return !ok
	})
}

// comparesScalar reports whether one side of == or != is a constant that is compared at once.
func comparesScalar(name string, args []interpreter.InterpretableV2) bool {
	return (name == operators.Equals || name == operators.NotEquals) &&
		slices.ContainsFunc(args, func(i interpreter.InterpretableV2) bool {
			c, ok := i.(interpreter.InterpretableConst)
			return ok && !isCollection(c.Value())
		})
}

func isCollection(v ref.Val) bool {
	_, isList := v.(traits.Lister)
	_, isMap := v.(traits.Mapper)
	return isList || isMap
}

// implementation returns the function of a call; nil if it is not known here.
func (m metered) implementation(node interpreter.InterpretableCall) functions.FunctionOp {
	switch node.Function() {
	case operators.Equals:
		return func(args ...ref.Val) ref.Val { return types.Equal(args[0], args[1]) }
	case operators.NotEquals:
		return func(args ...ref.Val) ref.Val { return types.Bool(types.Equal(args[0], args[1]) != types.True) }
	}
	o := m.calls[node.OverloadID()]
	if o == nil {
		o = m.calls[node.Function()]
	}
	switch n := len(node.Args()); {
	case o == nil || o.NonStrict || n == 0:
		return nil
	case n == 1 && o.Unary != nil:
		return guarded(o, func(args ...ref.Val) ref.Val { return o.Unary(args[0]) })
	case n == 2 && o.Binary != nil:
		return guarded(o, func(args ...ref.Val) ref.Val { return o.Binary(args[0], args[1]) })
	case o.Function != nil:
		return guarded(o, o.Function)
	}
	return nil
}

// guarded checks that the first argument has the traits that a function needs.
func guarded(o *functions.Overload, call functions.FunctionOp) functions.FunctionOp {
	if o.OperandTrait == 0 {
		return call
	}
	return func(args ...ref.Val) ref.Val {
		if !args[0].Type().HasTrait(o.OperandTrait) {
			return types.NewErr("no such overload: %s", o.Operator)
		}
		return call(args...)
	}
}

// budgetArgument passes the budget as an argument of a call.
type budgetArgument struct{}

func (budgetArgument) ID() int64                       { return 0 }
func (a budgetArgument) Eval(v cel.Activation) ref.Val { return a.Exec(interpreter.AsFrame(v)) }
func (budgetArgument) Exec(f *interpreter.ExecutionFrame) ref.Val {
	return budgetValue{types.NullValue, budgetOf(f)}
}

type budgetValue struct {
	ref.Val
	*budget
}
