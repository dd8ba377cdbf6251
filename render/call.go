package render

import (
	"reflect"
	"slices"
	"text/template/parse"
)

// call compiles a call of a function with operands. A piped value is its last argument.
func (c *compiler) call(name string, operands []parse.Node, piped expression) expression {
	count := len(operands)
	if piped != nil {
		count++
	}
	args := c.arguments(operands, piped)
	_, user := c.template.options.Funcs[name] // which hides all others of the name
	native, isNative := natives[name]
	switch {
	case user:
		return c.reflected(name, count, args)
	case name == "or" || name == "and":
		return c.choice(name == "or", operands, piped)
	case isNative:
		c.unknown = c.unknown || count < native.min || count > native.max
		return func(s *state) any {
			base := len(s.stack)
			v := native.call(s, args(s))
			s.stack = s.stack[:base]
			return v
		}
	}
	return c.reflected(name, count, args)
}

// arguments computes those of a call, a piped one before all others, and puts them on the stack of the state: a slice of
// their own would be allocated.
func (c *compiler) arguments(operands []parse.Node, piped expression) func(s *state) []any {
	var args []expression
	for _, n := range operands {
		args = append(args, c.operand(n))
	}
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

// choice is or, the first argument that is true, or and, the first that is not; or else the last. A piped argument is the
// last, but computed before all others.
func (c *compiler) choice(wanted bool, operands []parse.Node, piped expression) expression {
	var args []expression
	for _, n := range operands {
		args = append(args, c.operand(n))
	}
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

// reflected calls a function that is no native, with arguments of exactly the types that it takes.
func (c *compiler) reflected(name string, count int, args func(s *state) []any) expression {
	fn := c.template.function(&state{options: &c.template.options}, name)
	if fn == nil || !callable(reflect.TypeOf(fn), count) {
		c.unknown = true
		return nil
	}
	at := c.program.function(name)
	return func(s *state) any {
		base := len(s.stack)
		v := s.apply(s.function(at), args(s))
		s.stack = s.stack[:base]
		return v
	}
}

var reflectValue = reflect.TypeFor[reflect.Value]()

// callable reports whether a function takes so many arguments, and no value of text/template's own.
func callable(f reflect.Type, count int) bool {
	for i := range count {
		if t := parameter(f, i); t == nil || t == reflectValue {
			return false
		}
	}
	return (count == f.NumIn() || f.IsVariadic() && count >= f.NumIn()-1) && f.Out(0) != reflectValue
}

// parameter is the type of an argument; nil if there is none.
func parameter(f reflect.Type, i int) reflect.Type {
	last := f.NumIn() - 1
	switch {
	case f.IsVariadic() && i >= last:
		return f.In(last).Elem()
	case i <= last:
		return f.In(i)
	}
	return nil
}

// function is the place of one among those of the program.
func (p *program) function(name string) int {
	at := slices.Index(p.functions, name)
	if at < 0 {
		at, p.functions = len(p.functions), append(p.functions, name)
	}
	return at
}

// function is one of the program, bound to this state.
func (s *state) function(at int) reflect.Value {
	if !s.functions[at].IsValid() {
		s.functions[at] = reflect.ValueOf(s.template.function(s, s.template.program.functions[at]))
	}
	return s.functions[at]
}

// apply calls a function.
func (s *state) apply(f reflect.Value, args []any) any {
	in := make([]reflect.Value, len(args))
	for i, v := range args {
		p := parameter(f.Type(), i)
		if in[i] = reflect.ValueOf(v); v == nil {
			in[i] = reflect.Zero(p)
		}
		if v == nil && (p.Kind() != reflect.Interface || p.NumMethod() > 0) || !in[i].Type().AssignableTo(p) {
			giveUp()
		}
	}
	out := f.Call(in)
	if len(out) > 1 && !out[1].IsNil() {
		giveUp()
	}
	return out[0].Interface()
}
