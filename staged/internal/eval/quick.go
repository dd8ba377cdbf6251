package eval

import (
	"cmp"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Nearly all conditions follow fields, compare texts and numbers, and ask whether some or all elements of a list are so. These are evaluated on plain
// Go values, several times as fast as by cel-go. Only what is beyond doubt is decided here: wherever a value is missing, of another type, or an error,
// the answer is that it is not known, and the whole expression is left to cel-go. So both always agree.

// quick is a part of an expression on plain values: bool, int64, float64, string, []any, map[string]any. False means not known.
type quick func(*frame) (any, bool)

// as is the value of a part, if that is known and of a type.
func as[T any](part quick, f *frame) (t T, ok bool) {
	v, known := part(f)
	if known {
		t, ok = v.(T)
	}
	return t, ok
}

// maxDepth is how many macros may be within each other.
const maxDepth = 4

// frame is the values of variables: the free ones, and those of macros.
type frame struct {
	free  activation
	bound [maxDepth]any
}

// quicken compiles an expression, with the variables of the macros around it; nil if it holds what is not known here.
func quicken(e ast.Expr, bound []string) quick {
	switch e.Kind() {
	case ast.LiteralKind:
		return quickLiteral(e.AsLiteral())
	case ast.IdentKind:
		return quickName(e.AsIdent(), bound)
	case ast.SelectKind:
		return quickField(e.AsSelect(), bound)
	case ast.CallKind:
		return quickCall(e.AsCall(), bound)
	case ast.ComprehensionKind:
		return quickMacro(e.AsComprehension(), bound)
	}
	return nil
}

func quickLiteral(v ref.Val) quick {
	value, ok := plain(v)
	if !ok {
		return nil
	}
	return func(*frame) (any, bool) { return value, true }
}

// plain is a scalar as a Go value.
func plain(v ref.Val) (any, bool) {
	switch v.(type) {
	case types.Bool, types.Int, types.Double, types.String:
		return v.Value(), true
	}
	return nil, false
}

func quickName(name string, bound []string) quick {
	if at := slices.Index(bound, name); at >= 0 {
		return func(f *frame) (any, bool) { return f.bound[at], true }
	}
	return func(f *frame) (any, bool) { return f.free.ResolveName(name) }
}

func quickField(s ast.SelectExpr, bound []string) quick {
	of, name := quicken(s.Operand(), bound), s.FieldName()
	if of == nil {
		return nil
	}
	field := func(f *frame) (any, bool, bool) {
		m, isMap := as[map[string]any](of, f)
		value, found := m[name]
		return value, found, isMap
	}
	if s.IsTestOnly() {
		return func(f *frame) (any, bool) {
			_, found, isMap := field(f)
			return found, isMap
		}
	}
	return func(f *frame) (any, bool) {
		value, found, _ := field(f)
		return value, found
	}
}

func quickCall(call ast.CallExpr, bound []string) quick {
	args := make([]quick, len(call.Args()))
	for i, e := range call.Args() {
		if args[i] = quicken(e, bound); args[i] == nil {
			return nil
		}
	}
	switch name := call.FunctionName(); name {
	case operators.LogicalAnd, operators.LogicalOr:
		return quickLogic(name == operators.LogicalOr, args[0], args[1])
	case operators.LogicalNot:
		return func(f *frame) (any, bool) {
			b, ok := as[bool](args[0], f)
			return !b, ok
		}
	case "@num":
		return quickCell(args[0], nil, args[1])
	case "@cell":
		return quickCell(args[0], args[1], args[2])
	default:
		if holds := orders[name]; holds != nil {
			return quickComparison(holds, args[0], args[1])
		}
	}
	return nil
}

// quickLogic is ||, which ends with true, or &&, which ends with false.
func quickLogic(end bool, left, right quick) quick {
	return func(f *frame) (any, bool) {
		if b, ok := as[bool](left, f); !ok || b == end {
			return b, ok
		}
		b, ok := as[bool](right, f)
		return b, ok
	}
}

// orders tell of each comparison whether it holds for the order of its sides.
var orders = map[string]func(order int) bool{
	operators.Equals: func(n int) bool { return n == 0 }, operators.NotEquals: func(n int) bool { return n != 0 },
	operators.Less: func(n int) bool { return n < 0 }, operators.LessEquals: func(n int) bool { return n <= 0 },
	operators.Greater: func(n int) bool { return n > 0 }, operators.GreaterEquals: func(n int) bool { return n >= 0 },
}

func quickComparison(holds func(int) bool, left, right quick) quick {
	return func(f *frame) (any, bool) {
		a, ok := left(f)
		if !ok {
			return nil, false
		}
		b, ok := right(f)
		if !ok {
			return nil, false
		}
		n, ok := order(a, b)
		return holds(n), ok
	}
}

// order compares two texts or two numbers of one type. NaN has no order.
func order(a, b any) (n int, ok bool) {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return cmp.Compare(x, y), true
		}
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y), true
		}
	case float64:
		if y, ok := b.(float64); ok {
			return cmp.Compare(x, y), x == x && y == y
		}
	}
	return 0, false
}

func quickCell(obj, collector, column quick) quick {
	return func(f *frame) (any, bool) {
		status, isMap := as[map[string]any](obj, f)
		name, isText := as[string](column, f)
		if !isMap || !isText {
			return nil, false
		}
		if collector == nil {
			return plain(num(fields(status), types.String(name)))
		}
		table, isText := as[string](collector, f)
		if !isText {
			return nil, false
		}
		return plain(lookup(fields(status), types.String(table), types.String(name)))
	}
}

// quickMacro is exists, which asks for one true element, or all, which asks for no false one.
func quickMacro(c ast.ComprehensionExpr, bound []string) quick {
	list := quicken(c.IterRange(), bound)
	exists, predicate := quantifier(c)
	depth := len(bound)
	if list == nil || predicate == nil || depth == maxDepth {
		return nil
	}
	holds := quicken(predicate, append(slices.Clone(bound), c.IterVar()))
	if holds == nil {
		return nil
	}
	return func(f *frame) (any, bool) {
		items, ok := as[[]any](list, f)
		if !ok {
			return nil, false
		}
		for _, f.bound[depth] = range items {
			if b, ok := as[bool](holds, f); !ok || b == exists {
				return b, ok
			}
		}
		return !exists, true
	}
}

// quantifier recognises the expansions of exists and all, and returns what they ask of an element; nil for other macros.
func quantifier(c ast.ComprehensionExpr) (exists bool, predicate ast.Expr) {
	step := c.LoopStep()
	if c.HasIterVar2() || step.Kind() != ast.CallKind || c.AccuInit().Kind() != ast.LiteralKind || c.Result().Kind() != ast.IdentKind {
		return false, nil
	}
	call := step.AsCall()
	first := len(call.Args()) == 2 && isIdent(call.Args()[0], c.AccuVar())
	switch {
	case first && call.FunctionName() == operators.LogicalOr && c.AccuInit().AsLiteral() == types.False:
		return true, call.Args()[1]
	case first && call.FunctionName() == operators.LogicalAnd && c.AccuInit().AsLiteral() == types.True:
		return false, call.Args()[1]
	}
	return false, nil
}
