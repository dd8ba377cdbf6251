package render

import (
	"fmt"
	"reflect"

	"github.com/stagecraft-go/stagecraft/internal/object"
)

// metered is fn with its cost counted. Its arguments of type int become any, so that they take
// whole numbers of every type. It panics with an error, of which text/template makes a fault: not
// every function has one among its results.
func (s *state) metered(name string, fn any) any {
	f := reflect.ValueOf(fn)
	return reflect.MakeFunc(loose(f.Type()), func(in []reflect.Value) []reflect.Value {
		in, err := tighten(f.Type(), in)
		must(err)
		must(s.pay(name, in))
		out := callWith(f, in)
		if !cheap[name] {
			must(s.weighValues(out))
		}
		return out
	}).Interface()
}

// pay counts the arguments of a function, and what it is going to do as costs says. A cheap one
// looks at no more than the top of its arguments, and at texts as a whole.
func (s *state) pay(name string, in []reflect.Value) error {
	if cheap[name] {
		size := 0.0
		for _, v := range in {
			size += top(v.Interface())
		}
		return s.spend(1 + size/bytesPerStep)
	}
	if err := s.weighValues(in); err != nil {
		return err
	}
	if cost := costs[name]; cost != nil {
		return s.spend(cost(in))
	}
	return nil
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

func callWith(f reflect.Value, in []reflect.Value) []reflect.Value {
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
			list := make([]int, v.Len())
			for j := range list {
				n, err := whole(v.Index(j).Interface())
				if err != nil {
					return nil, err
				}
				list[j] = n
			}
			in[i] = reflect.ValueOf(list)
		}
	}
	return in, nil
}

// whole reads a number that has no fraction.
func whole(v any) (int, error) {
	n, ok := object.ToInt64(v)
	if !ok || int64(int(n)) != n {
		return 0, fmt.Errorf("wrong type for value; expected int; got %T", v)
	}
	return int(n), nil
}

func (s *state) weighValues(values []reflect.Value) error {
	for _, v := range values {
		if err := s.weigh(v.Interface(), 0); err != nil {
			return err
		}
	}
	return nil
}

// weigh spends a step for every value within v and more where it is deeply nested, as printing
// indents it. Shared values count as often as they would be printed.
func (s *state) weigh(v any, depth int) error {
	err := s.spend(1 + float64(depth)/8)
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case nil, bool, int, int64, float64:
	case string:
		err = s.spendText(float64(len(v)))
	case []any:
		for i := 0; i < len(v) && err == nil; i++ {
			err = s.weigh(v[i], depth+1)
		}
	case map[string]any:
		for k, e := range v {
			if err = s.weighEntry(k, e, depth+1); err != nil {
				break
			}
		}
	default:
		err = s.weighOther(reflect.ValueOf(v), depth)
	}
	return err
}

func (s *state) weighEntry(key string, v any, depth int) error {
	if err := s.spendText(float64(len(key))); err != nil {
		return err
	}
	return s.weigh(v, depth)
}

func (s *state) weighOther(v reflect.Value, depth int) error {
	var err error
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && err == nil; i++ {
			err = s.weigh(v.Index(i).Interface(), depth+1)
		}
	case reflect.Map:
		for entries := v.MapRange(); err == nil && entries.Next(); {
			err = s.weighEntry(entries.Key().String(), entries.Value().Interface(), depth+1)
		}
	case reflect.String:
		err = s.spendText(float64(v.Len()))
	}
	return err
}

func (s *state) spendText(bytes float64) error { return s.spend(bytes / bytesPerStep) }
