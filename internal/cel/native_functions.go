package cel

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/common/operators"
)

var unaryFunctions = map[string]func(any) (any, error){
	operators.LogicalNot: func(v any) (any, error) {
		if b, ok := v.(bool); ok {
			return !b, nil
		}
		return nil, ErrUnsure
	},
	"size": func(v any) (any, error) {
		switch x := v.(type) {
		case string:
			return int64(utf8.RuneCountInString(x)), nil
		case []any:
			return int64(len(x)), nil
		case map[string]any:
			return int64(len(x)), nil
		}
		return nil, ErrUnsure
	},
}

var binaryFunctions = map[string]func(x, y any) (any, error){
	operators.Equals: func(x, y any) (any, error) { return same(x, y) },
	operators.NotEquals: func(x, y any) (any, error) {
		equal, err := same(x, y)
		return !equal, err
	},
	operators.Less:          ordered(func(c int) bool { return c < 0 }),
	operators.LessEquals:    ordered(func(c int) bool { return c <= 0 }),
	operators.Greater:       ordered(func(c int) bool { return c > 0 }),
	operators.GreaterEquals: ordered(func(c int) bool { return c >= 0 }),
	operators.In:            contained,
	operators.Index:         indexed,
	"startsWith":            ofStrings(strings.HasPrefix),
	"endsWith":              ofStrings(strings.HasSuffix),
	"contains":              ofStrings(strings.Contains),
}

// same is ==: values of different types are not equal, except that numbers may be, which is left to
// CEL, as lists and maps are.
func same(x, y any) (bool, error) {
	switch a := x.(type) {
	case string:
		b, ok := y.(string)
		return ok && a == b, unless(ok || isScalar(y))
	case bool:
		b, ok := y.(bool)
		return ok && a == b, unless(ok || isScalar(y))
	case nil:
		return y == nil, unless(isScalar(y))
	case int64:
		b, ok := y.(int64)
		return ok && a == b, unless(ok || isScalar(y) && !isDouble(y))
	case float64:
		b, ok := y.(float64)
		return ok && a == b, unless(ok)
	}
	return false, ErrUnsure
}

func unless(sure bool) error {
	if sure {
		return nil
	}
	return ErrUnsure
}

func isScalar(v any) bool {
	switch v.(type) {
	case nil, bool, string, int64, float64:
		return true
	}
	return false
}

func isDouble(v any) bool {
	_, ok := v.(float64)
	return ok
}

// ordered compares two strings, or two numbers of one type.
func ordered(holds func(int) bool) func(x, y any) (any, error) {
	return func(x, y any) (any, error) {
		c, ok := order(x, y)
		if !ok {
			return nil, ErrUnsure
		}
		return holds(c), nil
	}
}

func order(x, y any) (c int, ok bool) {
	switch a := x.(type) {
	case string:
		b, ok := y.(string)
		return cmp.Compare(a, b), ok
	case int64:
		b, ok := y.(int64)
		return cmp.Compare(a, b), ok
	case float64:
		b, ok := y.(float64)
		return cmp.Compare(a, b), ok && a == a && b == b // NaN has no order
	}
	return 0, false
}

// contained is in.
func contained(x, y any) (any, error) {
	switch in := y.(type) {
	case map[string]any:
		if key, ok := x.(string); ok {
			_, there := in[key]
			return there, nil
		}
	case []any:
		for _, e := range in {
			if equal, err := same(x, e); equal || err != nil {
				return equal, err
			}
		}
		return false, nil
	}
	return nil, ErrUnsure
}

// indexed is m["key"] and l[0].
func indexed(x, y any) (any, error) {
	switch in := x.(type) {
	case map[string]any:
		key, ok := y.(string)
		v, there := in[key]
		if !ok || !there {
			return nil, ErrUnsure
		}
		return sure(v)
	case []any:
		if i, ok := y.(int64); ok && i >= 0 && i < int64(len(in)) {
			return sure(in[i])
		}
	}
	return nil, ErrUnsure
}

func ofStrings(f func(string, string) bool) func(x, y any) (any, error) {
	return func(x, y any) (any, error) {
		a, ok := x.(string)
		b, too := y.(string)
		if !ok || !too {
			return nil, ErrUnsure
		}
		return f(a, b), nil
	}
}
