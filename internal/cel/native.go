package cel

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// A native is an expression, or a part of one, as a closure over plain Go values, so that nothing
// needs to be wrapped for cel-go. It decides only what it is sure of. At anything else, a type that
// does not fit, say, it gives up with ErrUnsure, and cel-go evaluates the whole expression. So the
// two cannot differ but by a mistake in what is sure, which FuzzNativeCEL looks for.
//
// Values are nil, bool, string, int64, float64, map[string]any and []any.
type native func(*Frame) (any, error)

// ErrUnsure says that cel-go has to evaluate an expression.
var ErrUnsure = errors.New("not decided natively")

// maxNesting is how many macros may be within each other.
const maxNesting = 4

// A Frame is room for what one native evaluation knows: variables, those of the macros around, and
// at least the cost that cel-go would count. Where that is over the limit it is cel-go that has to
// say whether its own count is. One Frame may serve many evaluations, one after the other.
type Frame struct {
	variables    cel.Activation
	bound        [maxNesting]any
	spent, limit int
}

// charge reports whether the limit is kept.
func (f *Frame) charge(n int) bool {
	f.spent += n
	return f.spent <= f.limit
}

// A nativeCompiler compiles one expression.
type nativeCompiler struct {
	functions map[string]func([]any) (any, bool)
	variables map[string]*types.Type
	counted   bool     // cel-go counts the cost of the expression, so calls have to charge
	bound     []string // the variables of the macros around
}

// of compiles an expression, or returns nil if a part of it is outside the subset.
func (c *nativeCompiler) of(e ast.Expr) native {
	switch e.Kind() {
	case ast.LiteralKind:
		return literal(e)
	case ast.IdentKind:
		return c.name(e.AsIdent())
	case ast.SelectKind:
		return unary(c.of(e.AsSelect().Operand()), selected(e.AsSelect().FieldName(), e.AsSelect().IsTestOnly()))
	case ast.CallKind:
		return c.call(e.AsCall())
	case ast.ListKind:
		return listOfLiterals(e.AsList())
	case ast.ComprehensionKind:
		return c.macro(e.AsComprehension())
	}
	return nil
}

// name is a variable; one of a macro hides those around it.
func (c *nativeCompiler) name(name string) native {
	for i, bound := range slices.Backward(c.bound) {
		if name == bound {
			return func(f *Frame) (any, error) { return f.bound[i], nil }
		}
	}
	if c.variables[name] == nil {
		return nil
	}
	return func(f *Frame) (any, error) {
		v, ok := f.variables.ResolveName(name)
		if !ok {
			return nil, ErrUnsure
		}
		return sure(v)
	}
}

// sure passes on the values that a native knows.
func sure(v any) (any, error) {
	switch v.(type) {
	case nil, bool, string, int64, float64, map[string]any, []any:
		return v, nil
	}
	return nil, ErrUnsure
}

func literal(e ast.Expr) native {
	var v any
	switch c := e.AsLiteral().(type) {
	case types.Null:
	case types.Bool, types.String, types.Int, types.Double:
		v = c.Value()
	default:
		return nil
	}
	return func(*Frame) (any, error) { return v, nil }
}

// listOfLiterals is a list that needs to be built only once.
func listOfLiterals(l ast.ListExpr) native {
	list := make([]any, l.Size())
	for i, e := range l.Elements() {
		if e.Kind() != ast.LiteralKind || l.IsOptional(int32(i)) {
			return nil
		}
		element := literal(e)
		if element == nil {
			return nil
		}
		list[i], _ = element(nil)
	}
	value := any(list)
	return func(*Frame) (any, error) { return value, nil }
}

// unary is a function of one value, binary one of two. What fails first, from left to right, is the
// error.
func unary(operand native, apply func(any) (any, error)) native {
	if operand == nil {
		return nil
	}
	return func(f *Frame) (any, error) {
		v, err := operand(f)
		if err != nil {
			return nil, err
		}
		return apply(v)
	}
}

func (c *nativeCompiler) binary(operands []native, apply func(x, y any) (any, error)) native {
	left, right, counted := operands[0], operands[1], c.counted
	return func(f *Frame) (any, error) {
		x, err := left(f)
		if err != nil {
			return nil, err
		}
		y, err := right(f)
		if err != nil {
			return nil, err
		}
		if counted && !f.charge(costOfCall(x, y)) {
			return nil, ErrUnsure
		}
		return apply(x, y)
	}
}

// other is a function of Options.Native.
func other(operands []native, apply func([]any) (any, bool)) native {
	return func(f *Frame) (any, error) {
		args := make([]any, len(operands))
		for i, operand := range operands {
			v, err := operand(f)
			if err != nil {
				return nil, err
			}
			args[i] = v
		}
		v, ok := apply(args)
		if !ok {
			return nil, ErrUnsure
		}
		return sure(v)
	}
}

// selected is a field of a map, or whether it is there.
func selected(name string, test bool) func(any) (any, error) {
	missing := fmt.Errorf("no such key: %s", name)
	return func(v any) (any, error) {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, ErrUnsure
		}
		v, there := m[name]
		switch {
		case test:
			return there, nil
		case !there:
			return nil, missing
		}
		return sure(v)
	}
}

func (c *nativeCompiler) call(call ast.CallExpr) native {
	args := call.Args()
	if call.IsMemberFunction() {
		args = append([]ast.Expr{call.Target()}, args...)
	}
	operands := c.all(args)
	if operands == nil {
		return nil
	}
	name := call.FunctionName()
	switch {
	case name == operators.LogicalAnd:
		return connected(operands, false)
	case name == operators.LogicalOr:
		return connected(operands, true)
	case name == operators.Conditional:
		return chosen(operands)
	case unaryFunctions[name] != nil && len(operands) == 1:
		return unary(operands[0], unaryFunctions[name])
	case binaryFunctions[name] != nil && len(operands) == 2:
		return c.binary(operands, binaryFunctions[name])
	case c.functions[name] != nil:
		return other(operands, c.functions[name])
	}
	return nil
}

// all compiles expressions, or none of them.
func (c *nativeCompiler) all(exprs []ast.Expr) []native {
	natives := make([]native, len(exprs))
	for i, e := range exprs {
		if natives[i] = c.of(e); natives[i] == nil {
			return nil
		}
	}
	return natives
}

// connected is && or ||. An operand that is enough to decide hides the errors of all others.
func connected(operands []native, enough bool) native {
	return func(f *Frame) (any, error) {
		t := tally{enough: enough}
		for _, operand := range operands {
			if t.add(operand(f)) {
				break
			}
		}
		return t.result()
	}
}

// chosen is condition ? yes : no.
func chosen(operands []native) native {
	condition, yes, no := operands[0], operands[1], operands[2]
	return func(f *Frame) (any, error) {
		v, err := condition(f)
		if err != nil {
			return nil, err
		}
		switch v {
		case true:
			return yes(f)
		case false:
			return no(f)
		}
		return nil, ErrUnsure
	}
}
