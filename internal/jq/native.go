package jq

import (
	"slices"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
)

// A filter is a native program or a part of one. It appends its outputs for v to out. If it fails,
// out also has the outputs before the error.
type filter func(out []any, v any) ([]any, error)

// spare is the approximate free capacity of out for a filter, so that intermediate values need no
// allocation.
const spare = 8

// A compiler compiles one program, or a part of one.
type compiler struct {
	foreign  bool // the part is outside the native subset, and the compiled filter is not valid
	iterates bool // the part goes through lists, so that it can have several outputs
}

// compileNative returns nil if the program is outside the native subset. The subset has
// approximately the programs in the Stages of kwok and the presets. The size of the object bounds
// the work of such a program: no part repeats, and no part has two outputs for one place in the
// object. A wider subset with `,`, `..` or `range` would have to count steps.
func compileNative(q *gojq.Query) (f filter, iterates bool) {
	c := compiler{}
	if f = c.query(q); c.foreign {
		return nil, false
	}
	return f, c.iterates
}

func (c *compiler) query(q *gojq.Query) filter {
	switch {
	case len(q.FuncDefs) > 0 || len(q.Patterns) > 0:
		return c.refuse()
	case q.Term != nil:
		return c.term(q.Term)
	case q.Op == gojq.OpPipe:
		return pipe(c.query(q.Left), c.query(q.Right))
	}
	if holds := comparisons[q.Op]; holds != nil {
		return compared(c.single(q.Left), c.single(q.Right), holds)
	}
	return c.refuse()
}

func (c *compiler) refuse() filter {
	c.foreign = true
	return identity
}

// single compiles a query that must have at most one output for an input.
func (c *compiler) single(q *gojq.Query) filter {
	part := compiler{}
	f := part.query(q)
	c.foreign = c.foreign || part.foreign || part.iterates
	return f
}

// one returns the output of a filter that has at most one. It uses the free capacity of out, and
// does not change out.
func one(f filter, out []any, v any) (output any, found bool, err error) {
	n := len(out)
	out, err = f(out, v)
	if err != nil || len(out) == n {
		return nil, false, err
	}
	return out[n], true, nil
}

// term compiles a term with its suffixes. The `?` of jq belongs to the last suffix before it alone,
// and a second `?` to all suffixes before it.
func (c *compiler) term(t *gojq.Term) filter {
	parts, suffixes := []filter{}, t.SuffixList
	if names := fieldNames(t); len(names) > 0 {
		parts, suffixes = append(parts, fields(names...)), suffixes[len(names)-1:]
	} else {
		parts = append(parts, c.base(t))
	}
	for i, s := range suffixes {
		switch last := len(parts) - 1; {
		case s.Optional && i > 0 && suffixes[i-1].Optional:
			parts = []filter{optional(inOrder(parts))}
		case s.Optional:
			parts[last] = optional(parts[last])
		case s.Iter:
			c.iterates = true
			parts = append(parts, elements)
		case s.Index != nil:
			parts = append(parts, c.index(s.Index))
		default:
			return c.refuse()
		}
	}
	return inOrder(parts)
}

func inOrder(parts []filter) filter {
	f := parts[0]
	for _, next := range parts[1:] {
		f = pipe(f, next)
	}
	return f
}

// fieldNames are the fields that a term begins with: a and b of .a.b[0], and of .a.b.c? too.
func fieldNames(t *gojq.Term) []string {
	if t.Type != gojq.TermTypeIndex || t.Index.Name == "" {
		return nil
	}
	names := []string{t.Index.Name}
	for _, s := range t.SuffixList {
		switch {
		case s.Optional:
			return names[:len(names)-1]
		case s.Index == nil || s.Index.Name == "":
			return names
		}
		names = append(names, s.Index.Name)
	}
	return names
}

// base compiles a term without its suffixes.
func (c *compiler) base(t *gojq.Term) filter {
	switch t.Type {
	case gojq.TermTypeIdentity:
		return identity
	case gojq.TermTypeIndex:
		return c.index(t.Index)
	case gojq.TermTypeQuery:
		return c.query(t.Query)
	case gojq.TermTypeFunc:
		if f := t.Func; f.Name == "select" && len(f.Args) == 1 {
			return selected(c.single(f.Args[0]))
		}
	}
	v, ok := literal(t)
	if !ok {
		return c.refuse()
	}
	return func(out []any, _ any) ([]any, error) { return append(out, v), nil }
}

// index compiles .name, ."name", ["name"] and [3].
func (c *compiler) index(x *gojq.Index) filter {
	switch {
	case x.Name != "":
		return fields(x.Name)
	case x.Str != nil && x.Str.Queries == nil:
		return fields(x.Str.Str)
	case x.Str != nil || x.IsSlice:
		return c.refuse()
	}
	switch key, _ := constant(x.Start); k := key.(type) {
	case string:
		return fields(k)
	case int64:
		if int64(int(k)) == k {
			return element(int(k))
		}
	}
	return c.refuse()
}

// constant returns the value of a query that is a literal and nothing else.
func constant(q *gojq.Query) (any, bool) {
	if q.Term == nil || len(q.Term.SuffixList) > 0 || len(q.FuncDefs) > 0 {
		return nil, false
	}
	return literal(q.Term)
}

// literal returns the value of a term that is a constant.
func literal(t *gojq.Term) (any, bool) {
	switch t.Type {
	case gojq.TermTypeNull:
		return nil, true
	case gojq.TermTypeTrue, gojq.TermTypeFalse:
		return t.Type == gojq.TermTypeTrue, true
	case gojq.TermTypeString:
		return t.Str.Str, t.Str.Queries == nil
	case gojq.TermTypeNumber:
		return number(t.Number)
	case gojq.TermTypeUnary:
		if u := t.Unary; u.Op == gojq.OpSub && u.Term.Type == gojq.TermTypeNumber && len(u.Term.SuffixList) == 0 {
			return number("-" + u.Term.Number)
		}
	}
	return nil, false
}

func number(text string) (any, bool) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, true
	}
	f, err := strconv.ParseFloat(text, 64) // of an integer, it would lose digits
	return f, err == nil && strings.ContainsAny(text, ".eE")
}

// identity is `.`.
func identity(out []any, v any) ([]any, error) { return append(out, v), nil }

// pipe is left | right.
func pipe(left, right filter) filter {
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

// optional drops the error of a filter, and the outputs that would follow the error.
func optional(f filter) filter {
	return func(out []any, v any) ([]any, error) {
		out, _ = f(out, v)
		return out, nil
	}
}

// compared evaluates the right side first, as jq does: if both sides fail, the error is the right
// side's.
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

// selected is select(holds).
func selected(holds filter) filter {
	return func(out []any, v any) ([]any, error) {
		x, found, err := one(holds, out, v)
		if found && truth(x) {
			out = append(out, v)
		}
		return out, err
	}
}
