package render

import (
	"reflect"
	"slices"
	"text/template/parse"
)

// call compiles a call of a function with operands. A piped value is its last argument, but
// computed before all others. The arguments are on the stack of the state, because a separate slice
// would be an allocation.
func (c *compiler) call(name string, operands []parse.Node, piped expression) expression {
	var args []expression
	for _, n := range operands {
		args = append(args, c.operand(n))
	}
	_, user := c.template.options.Funcs[name] // which hides all others of the name
	if !user && (name == "or" || name == "and") {
		return c.choice(name == "or", args, piped)
	}
	count := len(args)
	if piped != nil {
		count++
	}
	do := c.function(name, count)
	return func(s *state) any {
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
		v := do(s, s.stack[base:])
		s.stack = s.stack[:base]
		return v
	}
}

// choice compiles the functions or and and. or returns the first argument that is true, and returns
// the first that is false; without such an argument both return the last. A piped argument is the
// last, but is computed before all others.
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

// function returns a call of the native function, or a call by reflection.
func (c *compiler) function(name string, count int) func(s *state, args []any) any {
	_, user := c.template.options.Funcs[name]
	if native, ok := natives[name]; ok && !user {
		c.unknown = c.unknown || count < native.min || count > native.max
		return native.call
	}
	// Builtins of text/template that have no native version cannot be called from outside.
	c.unknown = c.unknown || c.template.function(&state{options: &c.template.options}, name) == nil
	return func(s *state, args []any) any { return apply(s.function(name), args) }
}

// function returns a function that is called by reflection, bound to this state.
func (s *state) function(name string) reflect.Value {
	f, ok := s.functions[name]
	if !ok {
		f = reflect.ValueOf(s.template.function(s, name))
		s.functions[name] = f
	}
	return f
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
