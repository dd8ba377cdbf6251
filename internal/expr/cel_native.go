package expr

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// A native is a CEL expression, or a part of one, as a closure over the fields of self: it evaluates what selectors are made of without
// wrapping every value for CEL. It decides only what it is sure of. At anything else, a type that does not fit, say, it gives up with
// errUnsure, and CEL itself evaluates the whole expression. So the two cannot differ but by a mistake in what is sure, which
// FuzzNativeCEL looks for.
//
// Values are nil, bool, string, int64, float64, map[string]any and []any.
type native func(self map[string]any) (any, error)

var errUnsure = errors.New("not decided natively")

// nativeOf compiles an expression, or returns nil if a part of it is outside the subset.
func nativeOf(e ast.Expr) native {
	switch e.Kind() {
	case ast.LiteralKind:
		return nativeLiteral(e)
	case ast.IdentKind:
		if e.AsIdent() == "self" {
			return func(self map[string]any) (any, error) { return self, nil }
		}
	case ast.SelectKind:
		s := e.AsSelect()
		return overValue(nativeOf(s.Operand()), selected(s.FieldName(), s.IsTestOnly()))
	case ast.CallKind:
		return nativeCall(e.AsCall())
	case ast.ListKind:
		return nativeList(e.AsList())
	}
	return nil
}

// nativeList is a list of literals, which needs to be built only once.
func nativeList(l ast.ListExpr) native {
	list := make([]any, l.Size())
	for i, e := range l.Elements() {
		literal := e.Kind() == ast.LiteralKind && !l.IsOptional(int32(i))
		if !literal {
			return nil
		}
		f := nativeLiteral(e)
		if f == nil {
			return nil
		}
		list[i], _ = f(nil)
	}
	return always(list)
}

func nativeLiteral(e ast.Expr) native {
	switch c := e.AsLiteral().(type) {
	case types.Null:
		return always(nil)
	case types.Bool:
		return always(bool(c))
	case types.String:
		return always(string(c))
	case types.Int:
		return always(int64(c))
	case types.Double:
		return always(float64(c))
	}
	return nil
}

func always(v any) native { return func(map[string]any) (any, error) { return v, nil } }

// overValue is a function of one value, overValues one of two. What fails first, from left to right, is the error.
func overValue(operand native, f func(any) (any, error)) native {
	if operand == nil {
		return nil
	}
	return func(self map[string]any) (any, error) {
		v, err := operand(self)
		if err != nil {
			return nil, err
		}
		return f(v)
	}
}

func overValues(left, right native, f func(x, y any) (any, error)) native {
	if left == nil || right == nil {
		return nil
	}
	return func(self map[string]any) (any, error) {
		x, err := left(self)
		if err != nil {
			return nil, err
		}
		y, err := right(self)
		if err != nil {
			return nil, err
		}
		return f(x, y)
	}
}

// selected is a field of a map, or whether it is there.
func selected(name string, test bool) func(any) (any, error) {
	missing := noSuchKey(name)
	return func(v any) (any, error) {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, errUnsure
		}
		v, there := m[name]
		switch {
		case test:
			return there, nil
		case !there:
			return nil, missing
		}
		return sure(v)
	}
}

func noSuchKey(name string) error { return fmt.Errorf("no such key: %s", name) }

// sure passes on the values that a native knows.
func sure(v any) (any, error) {
	switch v.(type) {
	case nil, bool, string, int64, float64, map[string]any, []any:
		return v, nil
	}
	return nil, errUnsure
}

func nativeCall(call ast.CallExpr) native {
	args := call.Args()
	if call.IsMemberFunction() {
		args = append([]ast.Expr{call.Target()}, args...)
	}
	name := call.FunctionName()
	switch name {
	case operators.LogicalAnd:
		return connected(args, false)
	case operators.LogicalOr:
		return connected(args, true)
	case operators.Conditional:
		return chosen(nativeOf(args[0]), nativeOf(args[1]), nativeOf(args[2]))
	}
	if f := unaryNatives[name]; f != nil && len(args) == 1 {
		return overValue(nativeOf(args[0]), f)
	}
	if f := binaryNatives[name]; f != nil && len(args) == 2 {
		return overValues(nativeOf(args[0]), nativeOf(args[1]), f)
	}
	return nil
}

// connected is && or ||. An operand that is enough to decide hides the errors of all others.
func connected(args []ast.Expr, enough bool) native {
	operands := make([]native, len(args))
	for i, arg := range args {
		if operands[i] = nativeOf(arg); operands[i] == nil {
			return nil
		}
	}
	return func(self map[string]any) (any, error) {
		var first error
		for _, operand := range operands {
			v, err := operand(self)
			b, ok := v.(bool)
			switch {
			case err == errUnsure, err == nil && !ok:
				return nil, errUnsure
			case err == nil && b == enough:
				return enough, nil
			case first == nil:
				first = err
			}
		}
		if first != nil {
			return nil, first
		}
		return !enough, nil
	}
}

func chosen(condition, yes, no native) native {
	if condition == nil || yes == nil || no == nil {
		return nil
	}
	return func(self map[string]any) (any, error) {
		v, err := condition(self)
		if err != nil {
			return nil, err
		}
		switch v {
		case true:
			return yes(self)
		case false:
			return no(self)
		}
		return nil, errUnsure
	}
}

var unaryNatives = map[string]func(any) (any, error){
	operators.LogicalNot: func(v any) (any, error) {
		if b, ok := v.(bool); ok {
			return !b, nil
		}
		return nil, errUnsure
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
		return nil, errUnsure
	},
}

var binaryNatives = map[string]func(x, y any) (any, error){
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

// same is ==: values of different types are not equal, except that numbers may be, which is left to CEL, as lists and maps are.
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
	return false, errUnsure
}

func unless(sure bool) error {
	if sure {
		return nil
	}
	return errUnsure
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

// ordered compares two strings, or two integers.
func ordered(holds func(int) bool) func(x, y any) (any, error) {
	return func(x, y any) (any, error) {
		if a, ok := x.(string); ok {
			if b, ok := y.(string); ok {
				return holds(strings.Compare(a, b)), nil
			}
		}
		if a, ok := x.(int64); ok {
			if b, ok := y.(int64); ok {
				return holds(cmp.Compare(a, b)), nil
			}
		}
		return nil, errUnsure
	}
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
	return nil, errUnsure
}

// indexed is m["key"] and l[0].
func indexed(x, y any) (any, error) {
	switch in := x.(type) {
	case map[string]any:
		key, ok := y.(string)
		v, there := in[key]
		if !ok || !there {
			return nil, errUnsure
		}
		return sure(v)
	case []any:
		if i, ok := y.(int64); ok && i >= 0 && i < int64(len(in)) {
			return sure(in[i])
		}
	}
	return nil, errUnsure
}

func ofStrings(f func(string, string) bool) func(x, y any) (any, error) {
	return func(x, y any) (any, error) {
		a, ok := x.(string)
		b, too := y.(string)
		if !ok || !too {
			return nil, errUnsure
		}
		return f(a, b), nil
	}
}
