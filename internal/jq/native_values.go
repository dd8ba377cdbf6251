package jq

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// comparisons say for which results of compare an operator holds.
var comparisons = map[gojq.Operator]func(int) bool{
	gojq.OpEq: func(c int) bool { return c == 0 },
	gojq.OpNe: func(c int) bool { return c != 0 },
	gojq.OpLt: func(c int) bool { return c < 0 },
	gojq.OpLe: func(c int) bool { return c <= 0 },
	gojq.OpGt: func(c int) bool { return c > 0 },
	gojq.OpGe: func(c int) bool { return c >= 0 },
}

// compare orders two values as gojq.Compare does, without a conversion for the most common types.
func compare(a, b any) int {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y)
		}
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
	}
	return gojq.Compare(toGojq(a), toGojq(b))
}

// truth is jq's: everything but null and false.
func truth(v any) bool { return v != nil && v != false }

// mapped is a filter that has exactly one output.
func mapped(f func(v any) (any, error)) filter {
	return func(out []any, v any) ([]any, error) {
		v, err := f(v)
		if err != nil {
			return out, err
		}
		return append(out, v), nil
	}
}

// elements is .[], of a map in the order of its keys.
func elements(out []any, v any) ([]any, error) {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			out = append(out, plain(e))
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			out = append(out, plain(x[k]))
		}
	case nil:
		return out, errIterateNull
	default:
		return out, typeError("cannot iterate over: ", v)
	}
	return out, nil
}

// errIterateNull comes often, since a missing field is null.
var errIterateNull = errors.New("cannot iterate over: null")

// typeError is a run-time error about a value other than null, in the words of gojq. Its text is
// made at once: it must not keep the object.
func typeError(problem string, v any) error {
	n := toGojq(v)
	return errors.New(problem + gojq.TypeOf(n) + " (" + gojq.Preview(n) + ")")
}

// fields is .a.b.c.
func fields(names ...string) filter {
	return func(out []any, v any) ([]any, error) {
		for _, name := range names {
			switch m := v.(type) {
			case map[string]any:
				v = plain(m[name])
			case nil:
			default:
				return out, typeError("expected an object but got: ", v)
			}
		}
		return append(out, v), nil
	}
}

// element is .[i]; of a string, it is a character.
func element(i int) filter {
	return mapped(func(v any) (any, error) {
		switch x := v.(type) {
		case []any:
			return plain(elementAt(x, i)), nil
		case string:
			if r, ok := elementAt([]rune(x), i).(rune); ok {
				return string(r), nil
			}
			return nil, nil
		case nil:
			return nil, nil
		}
		return nil, typeError("expected an array but got: ", v)
	})
}

// elementAt returns an element, counted from the end if i is negative; nil outside the list.
func elementAt[T any](list []T, i int) any {
	if i < 0 {
		i += len(list)
	}
	if i < 0 || i >= len(list) {
		return nil
	}
	return list[i]
}
