package render

import (
	"reflect"
	"slices"
	"text/template/parse"
)

// reflected calls a function that is no native, with arguments of exactly the types that it takes.
func (o *outliner) reflected(name string, nodes []parse.Node, final expression) expression {
	fn := o.template.function(&run{options: &o.template.options}, name)
	if fn == nil {
		return nil
	}
	f := reflect.TypeOf(fn)
	var args []expression
	for i, n := range nodes {
		args = append(args, o.argument(n, parameter(f, i)))
	}
	piped := final != nil
	if piped {
		args = append(args, final)
	}
	if hasNil(args) || !takes(f, len(args)) || f.Out(0) == reflectValue {
		return nil
	}
	at := o.outline.function(name)
	return func(r *run) (any, bool) { return r.apply(r.bound(at), args, piped) }
}

var reflectValue = reflect.TypeFor[reflect.Value]()

func takes(f reflect.Type, args int) bool {
	if f.IsVariadic() {
		return args >= f.NumIn()-1
	}
	return args == f.NumIn()
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

// argument is nil for a literal that text/template would convert.
func (o *outliner) argument(n parse.Node, p reflect.Type) expression {
	if v, ok := literal(n); p == nil || p == reflectValue || ok && !reflect.TypeOf(v).AssignableTo(p) {
		return nil
	}
	return o.operand(n)
}

// function is the place of one among those of the outline.
func (o *outline) function(name string) int {
	at := slices.Index(o.functions, name)
	if at < 0 {
		at, o.functions = len(o.functions), append(o.functions, name)
	}
	return at
}

// bound is a function of the outline for this run.
func (r *run) bound(at int) reflect.Value {
	if !r.functions[at].IsValid() {
		r.functions[at] = reflect.ValueOf(r.template.function(r, r.outline.functions[at]))
	}
	return r.functions[at]
}

// apply computes the arguments, a piped one before all others, and calls.
func (r *run) apply(f reflect.Value, args []expression, piped bool) (_ any, ok bool) {
	in := make([]reflect.Value, len(args))
	last := len(args) - 1
	if piped {
		if in[last], ok = r.passed(args[last], parameter(f.Type(), last)); !ok {
			return nil, false
		}
		args = args[:last]
	}
	for i, arg := range args {
		if in[i], ok = r.passed(arg, parameter(f.Type(), i)); !ok {
			return nil, false
		}
	}
	out := f.Call(in)
	if len(out) > 1 && !out[1].IsNil() {
		return nil, false
	}
	return out[0].Interface(), true
}

func (r *run) passed(arg expression, p reflect.Type) (reflect.Value, bool) {
	v, ok := arg(r)
	if !ok {
		return reflect.Value{}, false
	}
	if v == nil {
		return reflect.Zero(p), p.Kind() == reflect.Interface && p.NumMethod() == 0
	}
	in := reflect.ValueOf(v)
	return in, in.Type().AssignableTo(p)
}
