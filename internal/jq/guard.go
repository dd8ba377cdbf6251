package jq

import (
	"encoding/json"
	"errors"

	"github.com/itchyny/gojq"
)

// guard rewrites a program in place so that each operator charges its cost to the budget before it works:
//
//	l + r    =>  __add($__budget; l; r) as [$__l, $__r] | $__l + $__r
//	l += r   =>  r as $__r | l |= . + $__r, with + as above
//	l |= f   =>  getpath(__path($__budget; path(l))) |= f
//	"\(x)"   =>  "" + (x | tostring), with + as above
//
// Operands are still evaluated in the same order, once, on the same input, and bound outside of path expressions, so
// results and errors stay what they are.
func guard(q *gojq.Query) (err error) {
	walk(q, func(node any) {
		switch x := node.(type) {
		case *gojq.Query:
			guardQuery(x)
		case *gojq.Term:
			guardTerm(x)
		case *gojq.Index:
			if isInterpolated(x.Str) {
				x.Start, x.Str = interpolated(x.Str, textFunc), nil
			}
		case *gojq.PatternObject:
			if isInterpolated(x.KeyString) {
				x.KeyQuery, x.KeyString = interpolated(x.KeyString, textFunc), nil
			}
		case *gojq.ObjectKeyVal:
			if !isInterpolated(x.KeyString) {
				return
			}
			if x.Val == nil {
				err = errors.New("an interpolated key needs a value")
			}
			x.KeyQuery, x.KeyString = interpolated(x.KeyString, textFunc), nil
		}
	})
	return err
}

func isInterpolated(s *gojq.String) bool { return s != nil && s.Queries != nil }

// arithmetic are the operators within update operators.
var arithmetic = map[gojq.Operator]gojq.Operator{
	gojq.OpUpdateAdd: gojq.OpAdd,
	gojq.OpUpdateSub: gojq.OpSub,
	gojq.OpUpdateMul: gojq.OpMul,
	gojq.OpUpdateDiv: gojq.OpDiv,
	gojq.OpUpdateMod: gojq.OpMod,
}

func guardQuery(q *gojq.Query) {
	if q.Term != nil || q.Left == nil || q.Right == nil {
		return
	}
	if o, ok := operands[q.Op]; ok {
		replace(q, guardedOperator(o.name, q.Op, q.Left, q.Right))
		return
	}
	if op, ok := arithmetic[q.Op]; ok {
		update := guardedOperator(operands[op].name, op, identity(), call("$__r"))
		replace(q, bind(q.Right, named("$__r"), &gojq.Query{Left: guardedPath(q.Left), Op: gojq.OpModify, Right: update}))
		return
	}
	switch q.Op {
	case gojq.OpAssign:
		guardAssign(q)
	case gojq.OpModify, gojq.OpUpdateAlt:
		q.Left = guardedPath(q.Left)
	}
}

// guardAssign leaves a constant path where it is: gojq has other words for its errors.
func guardAssign(q *gojq.Query) {
	path, ok := constantPath(q.Left)
	if !ok {
		q.Left = guardedPath(q.Left)
		return
	}
	assign := &gojq.Query{Left: q.Left, Op: q.Op, Right: q.Right}
	replace(q, bind(call("__path", call("$__budget"), path), named("$__p"), assign))
}

func guardTerm(t *gojq.Term) {
	if !isInterpolated(t.Str) {
		return
	}
	convert := textFunc
	if t.Type == gojq.TermTypeFormat {
		convert = &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFormat, Format: t.Format}}
	}
	*t = gojq.Term{Type: gojq.TermTypeQuery, Query: interpolated(t.Str, convert), SuffixList: t.SuffixList}
}

// textFunc converts the values in a string.
var textFunc = call("tostring")

// interpolated is a string with values in it as a sum.
func interpolated(s *gojq.String, convert *gojq.Query) *gojq.Query {
	var sum *gojq.Query
	for _, part := range s.Queries {
		if part.Term == nil || part.Term.Str == nil {
			part = &gojq.Query{Left: part, Op: gojq.OpPipe, Right: convert}
		}
		if sum == nil {
			sum = part
			continue
		}
		sum = guardedOperator(operands[gojq.OpAdd].name, gojq.OpAdd, sum, part)
	}
	return parenthesised(sum)
}

func guardedOperator(name string, op gojq.Operator, left, right *gojq.Query) *gojq.Query {
	pair := &gojq.Pattern{Array: []*gojq.Pattern{named("$__l"), named("$__r")}}
	apply := &gojq.Query{Left: call("$__l"), Op: op, Right: call("$__r")}
	return bind(call(name, call("$__budget"), left, right), pair, apply)
}

func guardedPath(q *gojq.Query) *gojq.Query {
	return call("getpath", call("__path", call("$__budget"), call("path", q)))
}

// constantPath returns the path that q is, as a query, if it consists of names and numbers only.
func constantPath(q *gojq.Query) (*gojq.Query, bool) {
	path, ok := keys(q, []any{})
	if !ok {
		return nil, false
	}
	text, err := json.Marshal(path)
	if err != nil {
		return nil, false
	}
	literal, err := gojq.Parse(string(text))
	return literal, err == nil
}

func keys(q *gojq.Query, path []any) ([]any, bool) {
	if !isPlain(q) || q.Term == nil {
		return nil, false
	}
	ok := false
	switch q.Term.Type {
	case gojq.TermTypeIndex:
		path, ok = appendKey(path, q.Term.Index)
	case gojq.TermTypeQuery:
		path, ok = keys(q.Term.Query, path)
	}
	for _, s := range q.Term.SuffixList {
		if !ok || s.Index == nil {
			return nil, false
		}
		path, ok = appendKey(path, s.Index)
	}
	return path, ok
}

func appendKey(path []any, x *gojq.Index) ([]any, bool) {
	switch {
	case x.Name != "":
		return append(path, x.Name), true
	case x.Str != nil:
		return append(path, x.Str.Str), x.Str.Queries == nil
	case x.IsSlice:
		return nil, false
	}
	key, ok := constant(x.Start)
	return append(path, key), ok && key != nil && key != true && key != false
}

func identity() *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity}}
}

func call(name string, args ...*gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name, Args: args}}}
}

func named(variable string) *gojq.Pattern { return &gojq.Pattern{Name: variable} }

func parenthesised(q *gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeQuery, Query: q}}
}

// bind is (source as pattern | body).
func bind(source *gojq.Query, p *gojq.Pattern, body *gojq.Query) *gojq.Query {
	return parenthesised(&gojq.Query{Left: source, Op: gojq.OpPipe, Patterns: []*gojq.Pattern{p}, Right: body})
}

// replace puts another expression in the place of q, which keeps its function definitions.
func replace(q, with *gojq.Query) {
	*q = gojq.Query{FuncDefs: q.FuncDefs, Term: with.Term}
}
