package render

import (
	"cmp"
	"reflect"
)

// A native is a function as programs call it, without reflection. It must not keep its arguments.
type native struct {
	min, max int // arguments
	call     func(s *state, args []any) any
}

const many = 1 << 10

// natives are the functions in which the templates of Pods and Nodes spend their time.
var natives = map[string]native{
	"Now":        {0, 0, func(s *state, _ []any) any { return s.now() }},
	"NodeIPWith": {1, 1, func(s *state, args []any) any { return s.nodeIP(as[string](args[0])) }},
	"PodIPWith": {5, 5, func(s *state, args []any) any {
		return s.podIPWith(as[string](args[0]), as[bool](args[1]), as[string](args[2]), as[string](args[3]), as[string](args[4]))
	}},
	"Quote": {1, 1, func(s *state, args []any) any { return s.quote(args[0]) }},

	"index": {2, many, func(_ *state, args []any) any { return index(args[0], args[1:]) }},
	"list":  {1, many, func(s *state, args []any) any { return s.list(args) }},
	"not":   {1, 1, func(_ *state, args []any) any { return !truth(args[0]) }},
	"len":   {1, 1, func(_ *state, args []any) any { return size(args[0]) }},
	"eq":    {2, many, func(_ *state, args []any) any { return equalsOne(args[0], args[1:]) }},
	"ne":    {2, 2, func(_ *state, args []any) any { return !equal(args[0], args[1]) }},
	"lt":    {2, 2, func(_ *state, args []any) any { return order(args[0], args[1]) < 0 }},
	"le":    {2, 2, func(_ *state, args []any) any { return order(args[0], args[1]) <= 0 }},
	"gt":    {2, 2, func(_ *state, args []any) any { return order(args[0], args[1]) > 0 }},
	"ge":    {2, 2, func(_ *state, args []any) any { return order(args[0], args[1]) >= 0 }},

	callFunc:  {0, 0, func(s *state, _ []any) any { return s.payCall() }},
	rangeFunc: {1, 1, func(s *state, args []any) any { return s.payRange(args[0]) }},
	weighFunc: {1, 1, func(s *state, args []any) any { return s.payValue(args[0]) }},
}

// certain gives up on an error.
func certain[T any](v T, err error) T {
	must(err)
	return v
}

// as gives up on a value of another type, which text/template may refuse or convert.
func as[T any](v any) T {
	t, ok := v.(T)
	if !ok {
		giveUp()
	}
	return t
}

// list pays for its arguments and its result, which are the same.
func (s *state) list(args []any) any {
	v := append([]any(nil), args...)
	s.weigh(v, 0)
	s.weigh(v, 0)
	return v
}

// index returns nil for a missing key.
func index(v any, path []any) any {
	for _, at := range path {
		switch of := v.(type) {
		case map[string]any:
			v = of[as[string](at)]
		case []any:
			v = of[as[int](at)]
		case []string:
			v = of[as[int](at)]
		default:
			giveUp()
		}
	}
	return v
}

func size(v any) int {
	switch of := reflect.ValueOf(v); of.Kind() {
	case reflect.String, reflect.Slice, reflect.Map:
		return of.Len()
	}
	giveUp()
	return 0
}

// equalsOne reports whether the first argument equals one of the others.
func equalsOne(v any, others []any) bool {
	for _, other := range others {
		if equal(v, other) {
			return true
		}
	}
	return false
}

// equal compares two strings, two booleans or two whole numbers. null equals no such value.
func equal(a, b any) bool {
	if a == nil || b == nil {
		switch cmp.Or(a, b).(type) {
		case nil, bool, string, int, int64:
			return a == b
		}
		giveUp()
	}
	if a, ok := a.(bool); ok {
		return a == as[bool](b)
	}
	return order(a, b) == 0
}

// order compares two strings or two whole numbers.
func order(a, b any) int {
	if a, ok := a.(string); ok {
		return cmp.Compare(a, as[string](b))
	}
	return cmp.Compare(integer(a), integer(b))
}

func integer(v any) int64 {
	if v, ok := v.(int); ok {
		return int64(v)
	}
	return as[int64](v)
}
