package jq

import (
	"slices"

	"github.com/itchyny/gojq"
)

// A filter is a native program or a part of one. It appends its outputs for v to out. If it fails, those
// before the error are there too.
type filter func(out []any, v any) ([]any, error)

// spare is how much room a filter finds in out, about, so that intermediate values need no memory of
// their own.
const spare = 8

// A compiler compiles one program, or a part of one.
type compiler struct {
	iterates bool // the part goes through lists, so that it may have several outputs
}

// compileNative returns nil if the program is outside the native subset. What is in it does work that is
// bounded by the size of the object: nothing repeats, and nothing has two outputs for one place in the
// object. A wider subset that does (`,`, `..`, `range`) has to count steps.
func compileNative(q *gojq.Query) (f filter, iterates bool) {
	c := compiler{}
	f = c.query(q)
	return f, c.iterates
}

func (c *compiler) query(q *gojq.Query) filter {
	switch {
	case !isPlain(q):
		return nil
	case q.Term != nil:
		return c.term(q.Term)
	case q.Op == gojq.OpPipe:
		return pipe(c.query(q.Left), c.query(q.Right))
	}
	left, right := single(q.Left), single(q.Right)
	if left == nil || right == nil {
		return nil
	}
	switch q.Op {
	case gojq.OpAnd, gojq.OpOr:
		return logic(left, right, q.Op == gojq.OpOr)
	case gojq.OpAlt:
		return alternative(left, right)
	}
	if holds := comparisons[q.Op]; holds != nil {
		return compared(left, right, holds)
	}
	return nil
}

// single compiles a query that has at most one output for an input.
func single(q *gojq.Query) filter {
	c := compiler{}
	f := c.query(q)
	if c.iterates {
		return nil
	}
	return f
}

// one returns the output of a filter that has at most one. Out is room to work in, which stays as it is.
func one(f filter, out []any, v any) (output any, found bool, err error) {
	n := len(out)
	out, err = f(out, v)
	if err != nil || len(out) == n {
		return nil, false, err
	}
	return out[n], true, nil
}

// isPlain reports that q defines no functions and binds no variables.
func isPlain(q *gojq.Query) bool {
	return q != nil && q.Meta == nil && len(q.Imports) == 0 && len(q.FuncDefs) == 0 && len(q.Patterns) == 0
}

// term compiles a term with its suffixes. The `?` of jq belongs to the last suffix before it alone.
func (c *compiler) term(t *gojq.Term) filter {
	n := len(t.SuffixList)
	if n == 0 {
		return c.base(t)
	}
	if names := fieldNames(t); names != nil {
		return fields(names)
	}
	last, before := t.SuffixList[n-1], t.SuffixList[:n-1]
	switch {
	case !last.Optional:
		return pipe(c.suffixed(t, before), c.suffix(last))
	case n == 1:
		return optional(c.base(t))
	}
	return pipe(c.suffixed(t, before[:n-2]), optional(c.suffix(before[n-2])))
}

// fieldNames are those of .a.b.c; nil if the term is anything else.
func fieldNames(t *gojq.Term) []string {
	if t.Type != gojq.TermTypeIndex || t.Index.Name == "" {
		return nil
	}
	names := []string{t.Index.Name}
	for _, s := range t.SuffixList {
		if s.Index == nil || s.Index.Name == "" {
			return nil
		}
		names = append(names, s.Index.Name)
	}
	return names
}

// suffixed compiles a term as if it had these suffixes.
func (c *compiler) suffixed(t *gojq.Term, suffixes []*gojq.Suffix) filter {
	other := *t
	other.SuffixList = suffixes
	return c.term(&other)
}

func (c *compiler) suffix(s *gojq.Suffix) filter {
	switch {
	case s.Iter:
		c.iterates = true
		return elements
	case s.Index != nil:
		return index(s.Index)
	}
	return nil
}

// base compiles a term without its suffixes.
func (c *compiler) base(t *gojq.Term) filter {
	switch t.Type {
	case gojq.TermTypeIdentity:
		return same
	case gojq.TermTypeIndex:
		return index(t.Index)
	case gojq.TermTypeQuery:
		return c.query(t.Query)
	case gojq.TermTypeFunc:
		return function(t.Func)
	case gojq.TermTypeIf:
		return condition(t.If.Cond, t.If.Then, t.If.Elif, t.If.Else)
	}
	v, ok := literal(t)
	if !ok {
		return nil
	}
	return func(out []any, _ any) ([]any, error) { return append(out, v), nil }
}

// same is `.`.
func same(out []any, v any) ([]any, error) { return append(out, v), nil }

// pipe is left | right; nil if one of them is.
func pipe(left, right filter) filter {
	if left == nil || right == nil {
		return nil
	}
	return func(out []any, v any) ([]any, error) {
		start := len(out)
		out, err := left(out, v)
		end := len(out)
		if end == start+1 && err == nil {
			return right(out[:start], out[start])
		}
		out = slices.Grow(out, spare)
		for i := start; i < end; i++ {
			var failure error
			if out, failure = right(out, out[i]); failure != nil {
				err = failure
				break
			}
		}
		return slices.Delete(out, start, end), err
	}
}

// optional drops the error of a filter, and what it would have put out after it.
func optional(f filter) filter {
	if f == nil {
		return nil
	}
	return func(out []any, v any) ([]any, error) {
		out, _ = f(out, v)
		return out, nil
	}
}

// compared evaluates the right side first, as jq does: if both fail, its error is the one.
func compared(left, right filter, holds func(int) bool) filter {
	return func(out []any, v any) ([]any, error) {
		y, found, err := one(right, out, v)
		if !found {
			return out, err
		}
		x, found, err := one(left, out, v)
		if !found {
			return out, err
		}
		return append(out, holds(compare(x, y))), nil
	}
}

// logic is `and`, or `or` if enough is true: the truth of the left side that makes the right one irrelevant.
func logic(left, right filter, enough bool) filter {
	return func(out []any, v any) ([]any, error) {
		x, found, err := one(left, out, v)
		if found && truth(x) != enough {
			x, found, err = one(right, out, v)
		}
		if !found {
			return out, err
		}
		return append(out, truth(x)), nil
	}
}

// alternative is left // right.
func alternative(left, right filter) filter {
	return func(out []any, v any) ([]any, error) {
		x, found, err := one(left, out, v)
		switch {
		case err != nil:
			return out, err
		case found && truth(x):
			return append(out, x), nil
		}
		return right(out, v)
	}
}

// condition compiles if, elif and else.
func condition(cond, then *gojq.Query, elif []*gojq.IfElif, otherwise *gojq.Query) filter {
	c, yes, no := single(cond), single(then), filter(same)
	switch {
	case len(elif) > 0:
		no = condition(elif[0].Cond, elif[0].Then, elif[1:], otherwise)
	case otherwise != nil:
		no = single(otherwise)
	}
	if c == nil || yes == nil || no == nil {
		return nil
	}
	return func(out []any, v any) ([]any, error) {
		x, found, err := one(c, out, v)
		switch {
		case !found:
			return out, err
		case truth(x):
			return yes(out, v)
		}
		return no(out, v)
	}
}

// index compiles .name, ."name", ["name"] and [3].
func index(x *gojq.Index) filter {
	switch {
	case x.Name != "":
		return fields([]string{x.Name})
	case x.Str != nil && !isInterpolated(x.Str):
		return fields([]string{x.Str.Str})
	case x.Str != nil || x.IsSlice:
		return nil
	}
	switch key, _ := constant(x.Start); k := key.(type) {
	case string:
		return fields([]string{k})
	case int64:
		if int64(int(k)) == k {
			return element(int(k))
		}
	}
	return nil
}
