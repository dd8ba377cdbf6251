package expr

import (
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
)

// valueOf compiles q if it has at most one output and is in the native subset.
func valueOf(q *gojq.Query) (value, bool) {
	switch {
	case !plainQuery(q):
		return nil, false
	case q.Term != nil:
		return termValue(q.Term)
	}
	left, ok := valueOf(q.Left)
	if !ok {
		return nil, false
	}
	right, ok := valueOf(q.Right)
	if !ok {
		return nil, false
	}
	return operate(q.Op, left, right)
}

func operate(op gojq.Operator, left, right value) (value, bool) {
	switch op {
	case gojq.OpPipe:
		return pipe(left, right), true
	case gojq.OpAnd, gojq.OpOr:
		return connect(left, right, op == gojq.OpOr), true
	case gojq.OpAlt:
		return alternative(left, right), true
	}
	holds, ok := comparisons[op]
	if !ok {
		return nil, false
	}
	return compared(left, right, holds), true
}

// comparisons say for which results of compare an operator holds.
var comparisons = map[gojq.Operator]func(int) bool{
	gojq.OpEq: func(c int) bool { return c == 0 },
	gojq.OpNe: func(c int) bool { return c != 0 },
	gojq.OpLt: func(c int) bool { return c < 0 },
	gojq.OpLe: func(c int) bool { return c <= 0 },
	gojq.OpGt: func(c int) bool { return c > 0 },
	gojq.OpGe: func(c int) bool { return c >= 0 },
}

func pipe(left, right value) value {
	return func(v any) (any, error) {
		v, err := left(v)
		if err != nil {
			return nil, err
		}
		return right(v)
	}
}

// compared evaluates the right side first, as jq does: if both fail, its error is the one.
func compared(left, right value, holds func(int) bool) value {
	return func(v any) (any, error) {
		y, err := right(v)
		if err != nil {
			return nil, err
		}
		x, err := left(v)
		if err != nil {
			return nil, err
		}
		return holds(compare(x, y)), nil
	}
}

// connect is `and`, or `or` if enough is true: the truth of the left side that makes the right one irrelevant.
func connect(left, right value, enough bool) value {
	return func(v any) (any, error) {
		x, err := left(v)
		if err != nil {
			return nil, err
		}
		if truth(x) == enough {
			return enough, nil
		}
		y, err := right(v)
		if err != nil {
			return nil, err
		}
		return truth(y), nil
	}
}

func alternative(left, right value) value {
	return func(v any) (any, error) {
		x, err := left(v)
		if err == nil && truth(x) {
			return x, nil
		}
		if err != nil && err != errNone {
			return nil, err
		}
		return right(v)
	}
}

// optional turns a run-time error into no output.
func optional(f value) value {
	return func(v any) (any, error) {
		out, err := f(v)
		if err != nil {
			return nil, errNone
		}
		return out, nil
	}
}

func termValue(t *gojq.Term) (value, bool) {
	n := len(t.SuffixList)
	if n == 0 {
		return baseValue(t)
	}
	last := t.SuffixList[n-1]
	switch {
	case last.Optional && n == 1:
		v, ok := baseValue(t)
		return optional(v), ok
	case last.Optional:
		return suffixValue(t, n-2, true)
	}
	return suffixValue(t, n-1, false)
}

func suffixValue(t *gojq.Term, i int, opt bool) (value, bool) {
	if t.SuffixList[i].Index == nil {
		return nil, false
	}
	head, ok := valueOf(shortened(t, i))
	if !ok {
		return nil, false
	}
	index, ok := indexValue(t.SuffixList[i].Index, opt)
	if !ok {
		return nil, false
	}
	if t.Type == gojq.TermTypeIdentity && i == 0 {
		return index, true
	}
	return pipe(head, index), true
}

// baseValue compiles a term without its suffixes.
func baseValue(t *gojq.Term) (value, bool) {
	switch t.Type {
	case gojq.TermTypeIdentity:
		return func(v any) (any, error) { return v, nil }, true
	case gojq.TermTypeIndex:
		return indexValue(t.Index, false)
	case gojq.TermTypeQuery:
		return valueOf(t.Query)
	case gojq.TermTypeFunc:
		return funcValue(t.Func)
	case gojq.TermTypeArray:
		return listValue(t.Array.Query)
	case gojq.TermTypeIf:
		return ifValue(t.If.Cond, t.If.Then, t.If.Elif, t.If.Else)
	}
	c, ok := literal(t)
	return func(any) (any, error) { return c, nil }, ok
}

func ifValue(cond, then *gojq.Query, elif []*gojq.IfElif, otherwise *gojq.Query) (value, bool) {
	c, ok := valueOf(cond)
	if !ok {
		return nil, false
	}
	yes, ok := valueOf(then)
	if !ok {
		return nil, false
	}
	no, ok := elseValue(elif, otherwise)
	if !ok {
		return nil, false
	}
	return choose(c, yes, no), true
}

func elseValue(elif []*gojq.IfElif, otherwise *gojq.Query) (value, bool) {
	if len(elif) > 0 {
		return ifValue(elif[0].Cond, elif[0].Then, elif[1:], otherwise)
	}
	if otherwise == nil {
		return func(v any) (any, error) { return v, nil }, true
	}
	return valueOf(otherwise)
}

func choose(cond, yes, no value) value {
	return func(v any) (any, error) {
		c, err := cond(v)
		if err != nil {
			return nil, err
		}
		if truth(c) {
			return yes(v)
		}
		return no(v)
	}
}

// literal returns the value of a term that is a constant.
func literal(t *gojq.Term) (any, bool) {
	switch t.Type {
	case gojq.TermTypeNull:
		return nil, true
	case gojq.TermTypeTrue:
		return true, true
	case gojq.TermTypeFalse:
		return false, true
	case gojq.TermTypeString:
		return t.Str.Str, t.Str.Queries == nil
	case gojq.TermTypeNumber:
		return number(t.Number)
	case gojq.TermTypeUnary:
		return negative(t.Unary)
	}
	return nil, false
}

// constant is literal for a query that is nothing else.
func constant(q *gojq.Query) (any, bool) {
	if !plainQuery(q) || q.Term == nil || len(q.Term.SuffixList) > 0 {
		return nil, false
	}
	return literal(q.Term)
}

func number(text string) (any, bool) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, true
	}
	if !strings.ContainsAny(text, ".eE") {
		return nil, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}

func negative(u *gojq.Unary) (any, bool) {
	if u.Op != gojq.OpSub || u.Term.Type != gojq.TermTypeNumber || len(u.Term.SuffixList) > 0 {
		return nil, false
	}
	n, ok := number(u.Term.Number)
	switch x := n.(type) {
	case int64:
		return -x, ok
	case float64:
		return -x, ok
	}
	return nil, false
}

// indexValue compiles .name, ."name", ["name"] and [3].
func indexValue(x *gojq.Index, opt bool) (value, bool) {
	v, ok := keyValue(x)
	if opt {
		v = optional(v)
	}
	return v, ok
}

func keyValue(x *gojq.Index) (value, bool) {
	switch {
	case x.Name != "":
		return field(x.Name), true
	case x.Str != nil:
		return field(x.Str.Str), x.Str.Queries == nil
	case x.IsSlice:
		return nil, false
	}
	key, ok := constant(x.Start)
	switch k := key.(type) {
	case string:
		return field(k), ok
	case int64:
		return element(int(k)), ok && int64(int(k)) == k
	}
	return nil, false
}
