package eval

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// Program is a compiled expression.
type Program struct {
	source    string
	program   cel.Program
	quick     quick // nil: there is only program
	output    *cel.Type
	tree      *ast.AST // as it was written, for what is said of it
	variables []string
	literals  []string
}

// Source is the text.
func (p *Program) Source() string { return p.source }

// Variables are the names of the variables that the expression reads, sorted.
func (p *Program) Variables() []string { return slices.Clone(p.variables) }

// Reads reports whether the expression reads a variable.
func (p *Program) Reads(variable string) bool { return slices.Contains(p.variables, variable) }

// Literals are the texts that stand in the expression, sorted.
func (p *Program) Literals() []string { return p.literals }

// A Value is the result of an evaluation.
type Value struct{ ref.Val }

// Eval evaluates the expression; a value of obj is also one of combinedStatus, and the other way round. Whatever keeps it from having a value is an error: a missing key, types that do not fit, the limits. It
// never panics: cel.Program turns panics into errors.
func (p *Program) Eval(variables map[string]any) (Value, error) {
	out, _, err := p.program.Eval(activation(variables))
	return Value{out}, err
}

// activation is values of variables as CEL sees them.
type activation map[string]any

// aliases are names that stand for each other.
var aliases = map[string]string{"obj": "combinedStatus", "combinedStatus": "obj"}

// ResolveName implements cel.Activation.
func (a activation) ResolveName(name string) (any, bool) {
	v, ok := a[name]
	if !ok {
		v, ok = a[aliases[name]]
	}
	return v, ok
}

// Parent implements cel.Activation.
func (activation) Parent() cel.Activation { return nil }

// Bool evaluates an expression that must be true or false; any other result is an error too.
func (p *Program) Bool(variables map[string]any) (bool, error) {
	if b, ok := p.quickly(variables); ok {
		return b, nil
	}
	v, err := p.Eval(variables)
	if err != nil {
		return false, err
	}
	b, ok := v.Val.(types.Bool)
	if !ok {
		return false, fmt.Errorf("the result is %s, not bool", v.Type().TypeName())
	}
	return bool(b), nil
}

// quickly is the result, if it is known without cel-go.
func (p *Program) quickly(variables map[string]any) (result, ok bool) {
	if p.quick == nil {
		return false, false
	}
	return as[bool](p.quick, &frame{free: variables})
}

// Plain returns the value as JSON has it: nil, bool, int64, uint64, float64, string, []any and map[string]any; times, durations and bytes are strings.
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
