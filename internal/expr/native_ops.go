package expr

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/itchyny/gojq"
)

// typeError is a run-time error in the words of gojq. It is made at once, because it must not keep the object.
func typeError(problem string, v any) error {
	return errors.New(problem + described(v))
}

// A misfit makes the errors of one place in a program. That about null, which is what a missing field is, comes often and is made only once.
type misfit struct {
	problem string
	null    error
}

func misfitOf(problem string) misfit { return misfit{problem, typeError(problem, nil)} }

func (m misfit) error(v any) error {
	if v == nil {
		return m.null
	}
	return typeError(m.problem, v)
}

func described(v any) string {
	if v == nil {
		return "null"
	}
	n := normal(v)
	return gojq.TypeOf(n) + " (" + gojq.Preview(n) + ")"
}

// truth is jq's: everything but null and false.
func truth(v any) bool { return v != nil && v != false }

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func field(name string) value {
	return func(v any) (any, error) {
		switch m := v.(type) {
		case map[string]any:
			return plain(m[name]), nil
		case nil:
			return nil, nil
		}
		return nil, typeError("expected an object but got: ", v)
	}
}

func element(i int) value {
	return func(v any) (any, error) {
		switch x := v.(type) {
		case []any:
			if j := fromEnd(i, len(x)); 0 <= j && j < len(x) {
				return plain(x[j]), nil
			}
			return nil, nil
		case string:
			return character(x, i), nil
		case nil:
			return nil, nil
		}
		return nil, typeError("expected an array but got: ", v)
	}
}

func fromEnd(i, length int) int {
	if i < 0 {
		return i + length
	}
	return i
}

func character(s string, i int) any {
	runes := []rune(s)
	if j := fromEnd(i, len(runes)); 0 <= j && j < len(runes) {
		return string(runes[j])
	}
	return nil
}

// rank orders the types of jq; false and true count as types of their own.
func rank(v any) int {
	switch x := v.(type) {
	case nil:
		return 0
	case bool:
		if x {
			return 2
		}
		return 1
	case string:
		return 4
	case []any:
		return 5
	case map[string]any:
		return 6
	}
	return 3
}

// compare orders two values as gojq.Compare does, without converting them first.
func compare(a, b any) int {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y)
		}
	case []any:
		if y, ok := b.([]any); ok {
			return compareLists(x, y)
		}
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			return compareMaps(x, y)
		}
	}
	ra, rb := rank(a), rank(b)
	if ra == 3 && rb == 3 {
		return compareNumbers(a, b)
	}
	return cmp.Compare(ra, rb)
}

func compareLists(a, b []any) int {
	for i := range min(len(a), len(b)) {
		if c := compare(plain(a[i]), plain(b[i])); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func compareMaps(a, b map[string]any) int {
	keys := sortedKeys(a)
	if c := slices.Compare(keys, sortedKeys(b)); c != 0 {
		return c
	}
	for _, k := range keys {
		if c := compare(plain(a[k]), plain(b[k])); c != 0 {
			return c
		}
	}
	return 0
}

func compareNumbers(a, b any) int {
	i, ok := a.(int64)
	j, also := b.(int64)
	if ok && also {
		return cmp.Compare(i, j)
	}
	x, ok := float(a)
	y, also := float(b)
	if ok && also {
		return compareFloats(x, y)
	}
	return gojq.Compare(normal(a), normal(b))
}

func float(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

// compareFloats puts NaN below everything, itself included, as jq does.
func compareFloats(x, y float64) int {
	switch {
	case x < y || math.IsNaN(x):
		return -1
	case x == y:
		return 0
	}
	return 1
}

// funcValue compiles a call of a native function.
func funcValue(f *gojq.Func) (value, bool) {
	n := len(f.Args)
	switch {
	case (f.Name == "any" || f.Name == "all") && n <= 2:
		return quantifiedValue(f)
	case n == 0:
		v, ok := nullary[f.Name]
		return v, ok
	case n == 1 && f.Name == "select":
		return selectValue(f.Args[0])
	case n == 1 && f.Name == "map":
		return mapValue(f.Args[0])
	case n == 1:
		compile, ok := unary[f.Name]
		arg, isConstant := constant(f.Args[0])
		if ok && isConstant {
			return compile(arg)
		}
	}
	return nil, false
}

func selectValue(cond *gojq.Query) (value, bool) {
	c, ok := valueOf(cond)
	return func(v any) (any, error) {
		keep, err := c(v)
		if err == nil && !truth(keep) {
			err = errNone
		}
		return v, err
	}, ok
}

// nullary and unary are the native functions; those of unary take a constant and refuse one that gojq has to judge.
var (
	nullary = map[string]value{
		"not":    func(v any) (any, error) { return !truth(v), nil },
		"empty":  func(any) (any, error) { return nil, errNone },
		"type":   func(v any) (any, error) { return typeNames[rank(v)], nil },
		"length": length,
	}
	unary = map[string]func(arg any) (value, bool){
		"has":        has,
		"test":       test,
		"startswith": stringTest("startswith", strings.HasPrefix),
		"endswith":   stringTest("endswith", strings.HasSuffix),
	}
	typeNames = [...]any{"null", "boolean", "boolean", "number", "string", "array", "object"}
)

func length(v any) (any, error) {
	switch x := v.(type) {
	case nil:
		return int64(0), nil
	case string:
		return int64(utf8.RuneCountInString(x)), nil
	case []any:
		return int64(len(x)), nil
	case map[string]any:
		return int64(len(x)), nil
	case float64:
		return math.Abs(x), nil
	case bool:
		return nil, typeError("length cannot be applied to: ", v)
	}
	return magnitude(v), nil
}

// magnitude is the absolute value of an integer; that of the smallest int64 is beyond int64.
func magnitude(v any) any {
	if i, ok := v.(int64); ok && i > math.MinInt64 {
		return max(i, -i)
	}
	n := toBig(v)
	return result(n.Abs(n))
}

func has(arg any) (value, bool) {
	problem := "has(" + preview(arg) + ") cannot be applied to: "
	key, isKey := arg.(string)
	index, isIndex := arg.(int64)
	return func(v any) (any, error) {
		switch x := v.(type) {
		case nil:
			return false, nil
		case map[string]any:
			if isKey {
				_, ok := x[key]
				return ok, nil
			}
		case []any:
			if isIndex {
				return 0 <= index && index < int64(len(x)), nil
			}
		}
		return nil, typeError(problem, v)
	}, isKey || isIndex
}

func preview(v any) string { return gojq.Preview(normal(v)) }

func stringTest(name string, holds func(s, arg string) bool) func(any) (value, bool) {
	return func(arg any) (value, bool) {
		want, ok := arg.(string)
		return stringValue(name+"("+preview(arg)+")", func(s string) bool { return holds(s, want) }), ok
	}
}

func test(arg any) (value, bool) {
	pattern, _ := arg.(string)
	re, err := regexp.Compile(pattern)
	if err != nil || pattern == "" {
		return nil, false
	}
	return stringValue("test("+preview(arg)+"; null)", re.MatchString), true
}

func stringValue(call string, holds func(string) bool) value {
	misfit := misfitOf(call + " cannot be applied to: ")
	return func(v any) (any, error) {
		s, ok := v.(string)
		if !ok {
			return nil, misfit.error(v)
		}
		return holds(s), nil
	}
}

func toBig(v any) *big.Int {
	switch n := normal(v).(type) {
	case int:
		return big.NewInt(int64(n))
	case *big.Int:
		return new(big.Int).Set(n)
	}
	return new(big.Int)
}
