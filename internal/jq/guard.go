package jq

import (
	"errors"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// guard rewrites a program in place so that each operator charges its cost to the budget before it
// works:
//
//	l + r    =>  __shallow($__budget; l; r) as [$__l, $__r] | $__l + $__r
//	l += r   =>  r as $__r | l |= . + $__r, with + as above
//	l |= f   =>  getpath(__path($__budget; path(l))) |= f
//	"\(x)"   =>  "" + (x | tostring), with + as above
//	l | 3    =>  l | . as $__i | 3
//
// Operands are still evaluated in the same order, once, on the same input, and bound outside of
// path expressions, so results and errors stay the same. The last rule works around a bug of gojq
// 0.12.20: it puts a constant into the place of the previous value, which is wrong if this value
// comes from one of several branches, as in (if .a then 1 else 2 end | 3) < 10.
func guard(q *gojq.Query) (err error) {
	walk(q, func(node any) {
		switch x := node.(type) {
		case *gojq.Query:
			guardQuery(x)
		case *gojq.Term:
			guardTerm(x)
		case *gojq.Index:
			guardKey(&x.Str, &x.Start)
		case *gojq.PatternObject:
			guardKey(&x.KeyString, &x.KeyQuery)
		case *gojq.ObjectKeyVal:
			if guardKey(&x.KeyString, &x.KeyQuery) && x.Val == nil {
				err = errors.New("an interpolated key needs a value")
			}
		}
	})
	return err
}

// guardKey makes a text with values in it a query, and reports whether it was one.
func guardKey(text **gojq.String, query **gojq.Query) bool {
	if !isInterpolated(*text) {
		return false
	}
	*query, *text = interpolated(*text, textFunc), nil
	return true
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
	if operators[q.Op] != "" {
		replace(q, guardedOperator(q.Op, q.Left, q.Right))
		return
	}
	if op, ok := arithmetic[q.Op]; ok {
		update := guardedOperator(op, dot, call("$__r"))
		replace(q, bind(q.Right, named("$__r"), &gojq.Query{Left: guardedPath(q.Left), Op: gojq.OpModify, Right: update}))
		return
	}
	switch q.Op {
	case gojq.OpPipe:
		if len(q.Patterns) == 0 && beginsWithValue(q.Right) {
			q.Right = bind(dot, named("$__i"), q.Right)
		}
	case gojq.OpAssign:
		guardAssign(q)
	case gojq.OpModify, gojq.OpUpdateAlt:
		q.Left = guardedPath(q.Left)
	}
}

// beginsWithValue reports whether the first thing that a query may do is to drop its input for a
// constant or a variable.
func beginsWithValue(q *gojq.Query) bool {
	for q.Term == nil && q.Op == gojq.OpPipe && len(q.Patterns) == 0 {
		q = q.Left
	}
	switch t := q.Term; {
	case t == nil:
		return false
	case t.Type == gojq.TermTypeQuery:
		return beginsWithValue(t.Query)
	case t.Type == gojq.TermTypeFunc:
		return strings.HasPrefix(t.Func.Name, "$")
	}
	return slices.Contains(valueTerms, q.Term.Type)
}

var valueTerms = []gojq.TermType{
	gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse, gojq.TermTypeNumber, gojq.TermTypeUnary,
	gojq.TermTypeString, gojq.TermTypeFormat, gojq.TermTypeArray, gojq.TermTypeObject,
}

// guardAssign does not move a constant path, because gojq words its errors in another way. The path
// is the same on any input: (null | path(l))? // null.
func guardAssign(q *gojq.Query) {
	if !isConstant(q.Left) {
		q.Left = guardedPath(q.Left)
		return
	}
	null := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeNull}}
	path := parenthesised(&gojq.Query{Left: null, Op: gojq.OpPipe, Right: call("path", q.Left)})
	path.Term.SuffixList = []*gojq.Suffix{{Optional: true}}
	charge := call("__path", call("$__budget"), &gojq.Query{Left: path, Op: gojq.OpAlt, Right: null})
	assign := &gojq.Query{Left: q.Left, Op: q.Op, Right: q.Right}
	replace(q, bind(charge, named("$__p"), assign))
}

// isConstant reports whether a path consists of names and numbers only.
func isConstant(q *gojq.Query) bool {
	constant := true
	walk(q, func(node any) {
		switch x := node.(type) {
		case *gojq.Query:
			constant = constant && x.Term != nil
		case *gojq.Term:
			constant = constant && slices.Contains(constantTerms, x.Type)
		case *gojq.Suffix:
			constant = constant && x.Index != nil && !x.Index.IsSlice
		}
	})
	return constant
}

var constantTerms = []gojq.TermType{
	gojq.TermTypeIndex, gojq.TermTypeQuery, gojq.TermTypeString, gojq.TermTypeNumber, gojq.TermTypeUnary,
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
		sum = guardedOperator(gojq.OpAdd, sum, part)
	}
	return parenthesised(sum)
}

func guardedOperator(op gojq.Operator, left, right *gojq.Query) *gojq.Query {
	pair := &gojq.Pattern{Array: []*gojq.Pattern{named("$__l"), named("$__r")}}
	apply := &gojq.Query{Left: call("$__l"), Op: op, Right: call("$__r")}
	return bind(call(operators[op], call("$__budget"), left, right), pair, apply)
}

func guardedPath(q *gojq.Query) *gojq.Query {
	return call("getpath", call("__path", call("$__budget"), call("path", q)))
}

// dot is `.`.
var dot = &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity}}

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

// replace replaces the expression of q. The function definitions of q stay.
func replace(q, with *gojq.Query) {
	*q = gojq.Query{FuncDefs: q.FuncDefs, Term: with.Term}
}
