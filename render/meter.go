package render

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/stagecraft-go/stagecraft/internal/object"
	"github.com/stagecraft-go/stagecraft/internal/regexcost"
)

// metered returns fn with its cost counted. Arguments of type int become any, so that fn takes
// whole numbers of every type.
func (s *state) metered(name string, fn any) any {
	f := reflect.ValueOf(fn)
	return reflect.MakeFunc(loose(f.Type()), func(in []reflect.Value) []reflect.Value {
		in = tighten(f.Type(), in)
		s.pay(name, in)
		call := f.Call
		if f.Type().IsVariadic() {
			call = f.CallSlice
		}
		out := call(in)
		if !cheap[name] {
			s.weighValues(out)
		}
		return out
	}).Interface()
}

// pay charges for the arguments of a function, and for its work according to costs. A cheap
// function looks only at the top level of its arguments, and at whole strings.
func (s *state) pay(name string, in []reflect.Value) {
	if cheap[name] {
		size := 0.0
		for _, v := range in {
			size += top(v.Interface())
		}
		s.spend(1 + size/bytesPerStep)
	} else {
		before := s.left
		s.weighValues(in)
		if takesNumbers[name] {
			s.spend(numberRate * max(0, before-s.left-2*float64(len(in)))) // short numbers cost nothing more
		}
	}
	if strings.Contains(name, "egex") { // the cost is known after parsing
		s.spend(float64(regexcost.Parse(in[0].String())) / statesPerStep)
	}
	if cost := costs[name]; cost != nil {
		s.spend(cost(in))
	}
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

// tighten converts the arguments of a loose type to the types of t.
func tighten(t reflect.Type, in []reflect.Value) []reflect.Value {
	for i, v := range in {
		switch t.In(i) {
		case intType:
			in[i] = reflect.ValueOf(certain(whole(v.Interface())))
		case intsType:
			list := make([]int, v.Len())
			for j := range list {
				list[j] = certain(whole(v.Index(j).Interface()))
			}
			in[i] = reflect.ValueOf(list)
		}
	}
	return in
}

// whole reads a number that has no fraction.
func whole(v any) (int, error) {
	n, ok := object.ToInt64(v)
	if !ok || int64(int(n)) != n {
		return 0, fmt.Errorf("wrong type for value; expected int; got %T", v)
	}
	return int(n), nil
}

func (s *state) weighValues(values []reflect.Value) {
	for _, v := range values {
		s.weigh(v.Interface(), 0)
	}
}

// weigh spends a step for every value within v, and more for deeply nested values, because printing
// indents them. A shared value counts as often as it would be printed.
func (s *state) weigh(v any, depth int) {
	s.spend(1 + float64(depth)/8)
	switch v := v.(type) {
	case nil, bool, int, int64, float64:
	case string:
		s.spendText(float64(len(v)))
	case []any:
		for _, e := range v {
			s.weigh(e, depth+1)
		}
	case map[string]any:
		for k, e := range v {
			s.spendText(float64(len(k)))
			s.weigh(e, depth+1)
		}
	default:
		s.weighOther(reflect.ValueOf(v), depth)
	}
}

func (s *state) weighOther(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			s.weigh(v.Index(i).Interface(), depth+1)
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			s.spendText(float64(len(entries.Key().String())))
			s.weigh(entries.Value().Interface(), depth+1)
		}
	case reflect.String:
		s.spendText(float64(v.Len()))
	}
}
