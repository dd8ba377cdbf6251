package render

import (
	"fmt"
	"reflect"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// metered is fn with its cost counted: its arguments, what it is going to do as costs says, and its results. Its
// arguments of type int become any, so that they take whole numbers of every type.
func (r *run) metered(name string, fn any) any {
	f := reflect.ValueOf(fn)
	pay := func(in []reflect.Value) ([]reflect.Value, error) { return r.pay(f, costs[name], in) }
	if cheap[name] {
		pay = func(in []reflect.Value) ([]reflect.Value, error) { return r.glance(f, in) }
	}
	call := func(in []reflect.Value) []reflect.Value {
		out, err := pay(in)
		if err != nil {
			// text/template makes an error of it: not every function has one among its results.
			panic(err)
		}
		return out
	}
	return reflect.MakeFunc(loose(f.Type()), call).Interface()
}

func (r *run) pay(f reflect.Value, cost costFunc, in []reflect.Value) ([]reflect.Value, error) {
	in, err := tighten(f.Type(), in)
	if err != nil {
		return nil, err
	}
	if err := r.weighValues(in); err != nil {
		return nil, err
	}
	if cost != nil {
		if err := r.spend(cost(in)); err != nil {
			return nil, err
		}
	}
	out := apply(f, in)
	return out, r.weighValues(out)
}

// glance calls a function that looks at no more than the top of its arguments, and at texts as a whole.
func (r *run) glance(f reflect.Value, in []reflect.Value) ([]reflect.Value, error) {
	size := 0.0
	for _, v := range in {
		size += top(v.Interface())
	}
	if err := r.spend(1 + size/bytesPerStep); err != nil {
		return nil, err
	}
	return apply(f, in), nil
}

// top is the length of a value and, in a list, of its elements.
func top(v any) float64 {
	size := length(reflect.ValueOf(v))
	if list, ok := v.([]any); ok {
		for _, e := range list {
			size += length(reflect.ValueOf(e))
		}
	}
	return size
}

func apply(f reflect.Value, in []reflect.Value) []reflect.Value {
	if f.Type().IsVariadic() {
		return f.CallSlice(in)
	}
	return f.Call(in)
}

var (
	intType  = reflect.TypeFor[int]()
	intsType = reflect.TypeFor[[]int]()
	swaps    = map[reflect.Type]reflect.Type{intType: reflect.TypeFor[any](), intsType: reflect.TypeFor[[]any]()}
)

// loose is the type with any for int.
func loose(t reflect.Type) reflect.Type {
	in, out := make([]reflect.Type, t.NumIn()), make([]reflect.Type, t.NumOut())
	for i := range in {
		in[i] = t.In(i)
		if swap := swaps[in[i]]; swap != nil {
			in[i] = swap
		}
	}
	for i := range out {
		out[i] = t.Out(i)
	}
	return reflect.FuncOf(in, out, t.IsVariadic())
}

// tighten makes the arguments of a loose type those of t.
func tighten(t reflect.Type, in []reflect.Value) ([]reflect.Value, error) {
	for i, v := range in {
		switch t.In(i) {
		case intType:
			n, err := whole(v.Interface())
			if err != nil {
				return nil, err
			}
			in[i] = reflect.ValueOf(n)
		case intsType:
			list, err := wholes(v.Interface().([]any))
			if err != nil {
				return nil, err
			}
			in[i] = reflect.ValueOf(list)
		}
	}
	return in, nil
}

func wholes(values []any) ([]int, error) {
	list := make([]int, len(values))
	for i, v := range values {
		n, err := whole(v)
		if err != nil {
			return nil, err
		}
		list[i] = n
	}
	return list, nil
}

// whole reads a number that has no fraction.
func whole(v any) (int, error) {
	n, ok := object.ToInt64(v)
	if !ok || int64(int(n)) != n {
		return 0, fmt.Errorf("wrong type for value; expected int; got %T", v)
	}
	return int(n), nil
}

func (r *run) weighValues(values []reflect.Value) error {
	for _, v := range values {
		if err := r.weigh(v.Interface(), 0); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) weighAll(values []any) error {
	for _, v := range values {
		if err := r.weigh(v, 0); err != nil {
			return err
		}
	}
	return nil
}

// weigh spends a step for every value within v and more where it is deeply nested, as printing indents it. Shared values
// count as often as they would be printed.
func (r *run) weigh(v any, depth int) error {
	if err := r.spend(1 + float64(depth)/8); err != nil {
		return err
	}
	switch v := v.(type) {
	case nil, bool, int, int64, float64:
		return nil
	case string:
		return r.spendText(float64(len(v)))
	case []any:
		for _, e := range v {
			if err := r.weigh(e, depth+1); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		for k, e := range v {
			if err := r.weighEntry(k, e, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return r.weighOther(reflect.ValueOf(v), depth)
}

func (r *run) weighEntry(key string, v any, depth int) error {
	if err := r.spendText(float64(len(key))); err != nil {
		return err
	}
	return r.weigh(v, depth)
}

func (r *run) weighOther(v reflect.Value, depth int) error {
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := r.weigh(v.Index(i).Interface(), depth+1); err != nil {
				return err
			}
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			if err := r.weighEntry(entries.Key().String(), entries.Value().Interface(), depth+1); err != nil {
				return err
			}
		}
	case reflect.String:
		return r.spendText(float64(v.Len()))
	}
	return nil
}

func (r *run) spendText(bytes float64) error { return r.spend(bytes / bytesPerStep) }
