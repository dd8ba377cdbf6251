package render

import (
	"reflect"
	"slices"
	"text/template/parse"
)

// call compiles a call of a function with operands. A piped value is its last argument.
func (c *compiler) call(name string, operands []parse.Node, piped expression) expression {
	_, user := c.template.options.Funcs[name] // which hides all others of the name
	native, isNative := natives[name]
	args := c.operands(operands)
	switch {
	case !user && (name == "or" || name == "and"):
		return c.choice(name == "or", args, piped)
	case user || !isNative:
		return c.reflected(name, stacked(args, piped))
	}
	count := len(operands)
	if piped != nil {
		count++
	}
	c.unknown = c.unknown || count < native.min || count > native.max
	onStack := stacked(args, piped)
	return func(s *state) any {
		base := len(s.stack)
		v := native.call(s, onStack(s))
		s.stack = s.stack[:base]
		return v
	}
}

func (c *compiler) operands(nodes []parse.Node) []expression {
	var list []expression
	for _, n := range nodes {
		list = append(list, c.operand(n))
	}
	return list
}

// stacked computes arguments, a piped one before all others, and puts them on the stack of the
// state: a slice of their own would be allocated.
func stacked(args []expression, piped expression) func(s *state) []any {
	count := len(args)
	if piped != nil {
		count++
	}
	return func(s *state) []any {
		base := len(s.stack)
		s.stack = slices.Grow(s.stack, count)[:base+count]
		if piped != nil {
			v := piped(s)
			s.stack[base+len(args)] = v
		}
		for i, arg := range args {
			v := arg(s) // may move the stack
			s.stack[base+i] = v
		}
		return s.stack[base:]
	}
}

// choice is or, the first argument that is true, or and, the first that is not; or else the last. A
// piped argument is the last, but computed before all others.
func (c *compiler) choice(wanted bool, args []expression, piped expression) expression {
	c.unknown = c.unknown || len(args) == 0
	return func(s *state) (v any) {
		var last any
		if piped != nil {
			last = piped(s)
		}
		for _, arg := range args {
			if v = arg(s); truth(v) == wanted {
				return v
			}
		}
		if piped != nil {
			return last
		}
		return v
	}
}

// reflected calls a function that is no native.
func (c *compiler) reflected(name string, args func(s *state) []any) expression {
	at := slices.Index(c.program.functions, name)
	if at < 0 {
		at, c.program.functions = len(c.program.functions), append(c.program.functions, name)
	}
	// The builtins of text/template that are no natives cannot be called from outside.
	c.unknown = c.unknown || c.template.function(&state{options: &c.template.options}, name) == nil
	return func(s *state) any {
		base := len(s.stack)
		v := apply(s.function(at), args(s))
		s.stack = s.stack[:base]
		return v
	}
}

// function is one of the program, bound to this state.
func (s *state) function(at int) reflect.Value {
	if !s.functions[at].IsValid() {
		s.functions[at] = reflect.ValueOf(s.template.function(s, s.template.program.functions[at]))
	}
	return s.functions[at]
}

var reflectValue = reflect.TypeFor[reflect.Value]()

// apply calls a function with arguments of exactly the types that it takes: text/template converts
// some.
func apply(f reflect.Value, args []any) any {
	t := f.Type()
	if t.Out(0) == reflectValue || len(args) < t.NumIn()-1 || len(args) != t.NumIn() && !t.IsVariadic() {
		giveUp()
	}
	in := make([]reflect.Value, len(args))
	for i, v := range args {
		in[i] = reflect.ValueOf(v)
		if p := parameter(t, i); v == nil && p.Kind() == reflect.Interface && p.NumMethod() == 0 {
			in[i] = reflect.Zero(p)
		} else if v == nil || !in[i].Type().AssignableTo(p) {
			giveUp()
		}
	}
	out := f.Call(in)
	if len(out) > 1 && !out[1].IsNil() {
		giveUp()
	}
	return out[0].Interface()
}

// parameter is the type of an argument.
func parameter(t reflect.Type, i int) reflect.Type {
	if last := t.NumIn() - 1; t.IsVariadic() && i >= last {
		return t.In(last).Elem()
	}
	return t.In(i)
}
