package expr

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// A native is a CEL expression, or a part of one, as a closure over the fields of self: it evaluates what selectors are made of without
// wrapping every value for CEL. It decides only what it is sure of. At anything else, a type that does not fit, say, it gives up with
// errUnsure, and CEL itself evaluates the whole expression. So the two cannot differ but by a mistake in what is sure, which
// FuzzNativeCEL looks for.
//
// Values are nil, bool, string, int64, float64, map[string]any and []any.
type native func(*Scope) (any, error)

var errUnsure = errors.New("not decided natively")

// A nativeCompiler compiles one expression.
type nativeCompiler struct {
	counted bool     // cel-go counts the cost of the expression, so calls have to charge
	bound   []string // the variables of the macros around
}

// of compiles an expression, or returns nil if a part of it is outside the subset.
func (c nativeCompiler) of(e ast.Expr) native {
	switch e.Kind() {
	case ast.LiteralKind:
		return nativeLiteral(e)
	case ast.IdentKind:
		return c.name(e.AsIdent())
	case ast.SelectKind:
		return c.field(e.AsSelect())
	case ast.CallKind:
		return c.call(e.AsCall())
	case ast.ListKind:
		return nativeList(e.AsList())
	case ast.ComprehensionKind:
		return c.quantified(e.AsComprehension())
	}
	return nil
}

// name is a variable; one of a macro hides those around it, and self.
func (c nativeCompiler) name(name string) native {
	for i, bound := range slices.Backward(c.bound) {
		if name == bound {
			return func(s *Scope) (any, error) { return s.bound[i], nil }
		}
	}
	if name == "self" {
		return func(s *Scope) (any, error) { return s.Object, nil }
	}
	return nil
}

func (c nativeCompiler) field(e ast.SelectExpr) native {
	r, ok := rootOf(e.FieldName())
	if ok && !e.IsTestOnly() && isIdent(e.Operand(), "self") && !slices.Contains(c.bound, "self") {
		missing := noSuchKey(e.FieldName())
		return func(s *Scope) (any, error) {
			v, there := s.root(r)
			if !there {
				return nil, missing
			}
			return sure(v)
		}
	}
	return overValue(c.of(e.Operand()), selected(e.FieldName(), e.IsTestOnly()))
}

// nativeList is a list of literals, which needs to be built only once.
func nativeList(l ast.ListExpr) native {
	list := make([]any, l.Size())
	for i, e := range l.Elements() {
		literal := e.Kind() == ast.LiteralKind && !l.IsOptional(int32(i))
		if !literal {
			return nil
		}
		f := nativeLiteral(e)
		if f == nil {
			return nil
		}
		list[i], _ = f(nil)
	}
	return always(list)
}

func nativeLiteral(e ast.Expr) native {
	switch c := e.AsLiteral().(type) {
	case types.Null:
		return always(nil)
	case types.Bool:
		return always(bool(c))
	case types.String:
		return always(string(c))
	case types.Int:
		return always(int64(c))
	case types.Double:
		return always(float64(c))
	}
	return nil
}

func always(v any) native { return func(*Scope) (any, error) { return v, nil } }

// overValue is a function of one value, overValues one of two. What fails first, from left to right, is the error.
func overValue(operand native, f func(any) (any, error)) native {
	if operand == nil {
		return nil
	}
	return func(s *Scope) (any, error) {
		v, err := operand(s)
		if err != nil {
			return nil, err
		}
		return f(v)
	}
}

func (c nativeCompiler) overValues(left, right native, f func(x, y any) (any, error)) native {
	if left == nil || right == nil {
		return nil
	}
	return func(s *Scope) (any, error) {
		x, err := left(s)
		if err != nil {
			return nil, err
		}
		y, err := right(s)
		if err != nil {
			return nil, err
		}
		if c.counted && !s.meter.charge(costOfCall(x, y)) {
			return nil, errUnsure
		}
		return f(x, y)
	}
}

// selected is a field of a map, or whether it is there.
func selected(name string, test bool) func(any) (any, error) {
	missing := noSuchKey(name)
	return func(v any) (any, error) {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, errUnsure
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

func noSuchKey(name string) error { return fmt.Errorf("no such key: %s", name) }

// sure passes on the values that a native knows.
func sure(v any) (any, error) {
	switch v.(type) {
	case nil, bool, string, int64, float64, map[string]any, []any:
		return v, nil
	}
	return nil, errUnsure
}

func (c nativeCompiler) call(call ast.CallExpr) native {
	args := call.Args()
	if call.IsMemberFunction() {
		args = append([]ast.Expr{call.Target()}, args...)
	}
	switch name := call.FunctionName(); name {
	case operators.LogicalAnd:
		return connected(c.all(args), false)
	case operators.LogicalOr:
		return connected(c.all(args), true)
	case operators.Conditional:
		return chosen(c.all(args))
	default:
		return c.function(name, args)
	}
}

func (c nativeCompiler) function(name string, args []ast.Expr) native {
	if f := unaryNatives[name]; f != nil && len(args) == 1 {
		return overValue(c.of(args[0]), f)
	}
	if f := binaryNatives[name]; f != nil && len(args) == 2 {
		return c.overValues(c.of(args[0]), c.of(args[1]), f)
	}
	return nil
}

// all compiles expressions, or none of them.
func (c nativeCompiler) all(exprs []ast.Expr) []native {
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
	if operands == nil {
		return nil
	}
	return func(s *Scope) (any, error) {
		t := tally{enough: enough}
		for _, operand := range operands {
			if t.add(operand(s)) {
				break
			}
		}
		return t.result()
	}
}

// chosen is condition ? yes : no.
func chosen(operands []native) native {
	if operands == nil {
		return nil
	}
	condition, yes, no := operands[0], operands[1], operands[2]
	return func(s *Scope) (any, error) {
		v, err := condition(s)
		if err != nil {
			return nil, err
		}
		switch v {
		case true:
			return yes(s)
		case false:
			return no(s)
		}
		return nil, errUnsure
	}
}
