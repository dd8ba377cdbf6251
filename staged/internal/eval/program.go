package eval

import (
	"fmt"
	"maps"
	"slices"

	googlecel "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/stagecraft-go/stagecraft/internal/cel"
)

// Program is a compiled expression.
type Program struct{ *cel.Program }

// Reads reports whether the expression reads a variable.
func (p *Program) Reads(variable string) bool { return slices.Contains(p.Variables(), variable) }

// Literals are the texts that stand in the expression, sorted.
func (p *Program) Literals() []string {
	texts := map[string]bool{}
	ast.PostOrderVisit(p.Written().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.LiteralKind {
			if s, ok := e.AsLiteral().(types.String); ok {
				texts[string(s)] = true
			}
		}
	}))
	return slices.Sorted(maps.Keys(texts))
}

// A Value is the result of an evaluation.
type Value struct{ ref.Val }

// Eval evaluates the expression; a value of obj is also one of combinedStatus, and the other way
// round. Whatever keeps it from having a value is an error: a missing key, types that do not fit,
// the limits. It never panics.
func (p *Program) Eval(variables map[string]any) (Value, error) {
	out, err := p.Program.Eval(activation(variables))
	return Value{out}, err
}

// activation is values of variables as CEL sees them.
type activation map[string]any

// aliases are names that stand for each other.
var aliases = map[string]string{"obj": "combinedStatus", "combinedStatus": "obj"}

// ResolveName implements googlecel.Activation.
func (a activation) ResolveName(name string) (any, bool) {
	v, ok := a[name]
	if !ok {
		v, ok = a[aliases[name]]
	}
	return v, ok
}

// Parent implements googlecel.Activation.
func (activation) Parent() googlecel.Activation { return nil }

// Bool evaluates an expression that must be true or false; any other result is an error too.
func (p *Program) Bool(variables map[string]any) (bool, error) {
	return p.Program.Bool(activation(variables))
}

// MeasuredBool is Bool, and returns how many steps it took, which Options.Cost limits.
func (p *Program) MeasuredBool(variables map[string]any) (holds bool, steps int, err error) {
	return p.Program.MeasuredBool(activation(variables))
}

// Plain returns the value as JSON has it: nil, bool, int64, uint64, float64, string, []any and
// map[string]any; times, durations and bytes are strings.
func (v Value) Plain() any {
	switch x := v.Val.(type) {
	case types.Null:
		return nil
	case types.Bool, types.Int, types.Uint, types.Double, types.String:
		return x.Value()
	case traits.Lister:
		list := []any{}
		for it := x.Iterator(); it.HasNext() == types.True; {
			list = append(list, Value{it.Next()}.Plain())
		}
		return list
	case traits.Mapper:
		m := map[string]any{}
		for it := x.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			m[Value{key}.text()] = Value{x.Get(key)}.Plain()
		}
		return m
	}
	return v.text()
}

// text is what string() of CEL makes of a value.
func (v Value) text() string {
	if s, ok := v.ConvertToType(types.StringType).(types.String); ok {
		return string(s)
	}
	return fmt.Sprint(v.Value())
}
