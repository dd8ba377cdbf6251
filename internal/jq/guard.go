package jq

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// guard rewrites a program in place so that each operation charges its cost to the budget before it
// works:
//
//	l + r    =>  __shallow($__budget; l; r) as [$__l, $__r] | $__l + $__r
//	t[]      =>  t | __each($__budget) | .[]
//	t[k]     =>  k as $__k | t | __element($__budget; $__k) as $__k | .[$__k]
//	l += r   =>  r as $__r | l |= . + $__r, with + as above
//	l |= f   =>  see guardModify; l = r is similar
//	{(k): v} =>  {(k | __text($__budget)): v}
//	"\(x)"   =>  "" + (x | tostring), with + as above
//	l | 3    =>  l | . as $__i | 3
//
// Operands are still evaluated in the same order, once, on the same input, and bound outside of
// path expressions, so results and errors stay the same. The last rule works around a bug of gojq
// 0.12.20: it puts a constant into the place of the previous value, which is wrong if this value
// comes from one of several branches, as in (if .a then 1 else 2 end | 3) < 10.
func guard(q *gojq.Query) error {
	g := &guarding{keep: constantTargets(q), tries: hasTry(q)}
	walk(q, g.visit)
	return errors.Join(g.faults...)
}

// guarding is one call of guard.
type guarding struct {
	keep   map[*gojq.Term]bool // parts of paths that stay as they are
	tries  bool                // errors are caught, so that their texts are made, which takes time
	faults []error
}

func (g *guarding) visit(node any) {
	switch x := node.(type) {
	case *gojq.Query:
		guardQuery(x)
	case *gojq.Term:
		if !g.keep[x] {
			g.term(x)
		}
	case *gojq.Index:
		guardKey(&x.Str, &x.Start)
	case *gojq.Pattern:
		if g.tries {
			x.Object = computedKeys(x.Object)
		}
	case *gojq.PatternObject:
		guardKey(&x.KeyString, &x.KeyQuery)
		if x.KeyQuery != nil {
			x.KeyQuery = call("__element", budgetVariable, x.KeyQuery)
		}
	case *gojq.ObjectKeyVal:
		if guardKey(&x.KeyString, &x.KeyQuery) && x.Val == nil {
			g.faults = append(g.faults, errors.New("an interpolated key needs a value"))
		}
		if x.KeyQuery != nil {
			x.KeyQuery = pipeline(x.KeyQuery, charge("__text"))
		}
	}
}

// hasTry reports whether a program catches errors.
func hasTry(q *gojq.Query) (tries bool) {
	walk(q, func(node any) {
		switch x := node.(type) {
		case *gojq.Try:
			tries = true
		case *gojq.Suffix:
			tries = tries || x.Optional
		}
	})
	return tries
}

// computedKeys writes the constant keys of a pattern as guarded queries: {a: $x, $y} becomes
// {("a"): $x, ("y"): $y}.
func computedKeys(object []*gojq.PatternObject) (out []*gojq.PatternObject) {
	add := func(key string, value *gojq.Pattern) {
		text := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeString, Str: &gojq.String{Str: key}}}
		out = append(out, &gojq.PatternObject{KeyQuery: call("__element", budgetVariable, text), Val: value})
	}
	for _, kv := range object {
		name, isVariable := strings.CutPrefix(kv.Key, "$")
		switch {
		case isVariable:
			add(name, named(kv.Key))
			if kv.Val != nil {
				add(name, kv.Val)
			}
		case kv.Key != "":
			add(kv.Key, kv.Val)
		case kv.KeyString != nil:
			add(kv.KeyString.Str, kv.Val)
		default:
			out = append(out, kv)
		}
	}
	return out
}

// constantTargets are the terms of constant paths on the left of an assignment.
func constantTargets(q *gojq.Query) map[*gojq.Term]bool {
	keep := map[*gojq.Term]bool{}
	walk(q, func(node any) {
		x, ok := node.(*gojq.Query)
		if !ok || x.Term != nil || x.Op != gojq.OpAssign || !isConstant(x.Left) {
			return
		}
		walk(x.Left, func(part any) {
			if t, ok := part.(*gojq.Term); ok {
				keep[t] = true
			}
		})
	})
	return keep
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
		if !comparesWord(q) {
			replace(q, guardedOperator(q.Op, q.Left, q.Right))
		}
		return
	}
	if op, ok := arithmetic[q.Op]; ok {
		replace(q, bind(q.Right, named("$__r"), guardedModify(q.Left, guardedOperator(op, dot, call("$__r")))))
		return
	}
	switch q.Op {
	case gojq.OpPipe:
		if len(q.Patterns) == 0 && beginsWithValue(q.Right) {
			q.Right = bind(dot, named("$__i"), q.Right)
		}
	case gojq.OpAssign:
		guardAssign(q)
	case gojq.OpModify:
		replace(q, guardedModify(q.Left, q.Right))
	case gojq.OpUpdateAlt:
		update := &gojq.Query{Left: dot, Op: gojq.OpAlt, Right: call("$__r")}
		replace(q, bind(q.Right, named("$__r"), guardedModify(q.Left, update)))
	}
}

// word is the longest constant that is compared without a charge, in bytes.
const word = 64

// comparesWord reports whether an operator compares with a short constant, as in .kind == "Pod".
func comparesWord(q *gojq.Query) bool {
	return operators[q.Op] == "__compare" && (isWord(q.Left) || isWord(q.Right))
}

func isWord(q *gojq.Query) bool {
	v, ok := constant(q)
	text, _ := v.(string)
	return ok && len(text) <= word
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

// term guards a term and its suffixes.
func (g *guarding) term(t *gojq.Term) {
	suffixes := t.SuffixList
	t.SuffixList = nil
	switch t.Type {
	case gojq.TermTypeNumber:
		if len(t.Number) > maxDigits {
			g.faults = append(g.faults, fmt.Errorf("a number of %d digits; write at most %d", len(t.Number), maxDigits))
		}
	case gojq.TermTypeRecurse:
		*t = *call("recurse").Term
	case gojq.TermTypeIndex:
		if guarded := g.index(dot, t.Index); guarded != nil {
			*t = *guarded.Term
		}
	}
	if isInterpolated(t.Str) {
		*t = *guardedText(t).Term
	}
	for i, s := range suffixes {
		optional := i+1 < len(suffixes) && suffixes[i+1].Optional && !s.Optional
		if s.Optional && i > 0 && !suffixes[i-1].Optional {
			continue // done with the previous suffix
		}
		g.addSuffix(t, s, optional)
	}
}

// addSuffix puts a suffix on a term whose suffixes are guarded. If the suffix is optional, gojq
// evaluates it on the output of the term: t[k]? is t | try .[k].
func (g *guarding) addSuffix(t *gojq.Term, s *gojq.Suffix, optional bool) {
	of := &gojq.Query{Term: &gojq.Term{}}
	*of.Term = *t
	if optional {
		of = dot
	}
	var guarded *gojq.Query
	switch {
	case s.Iter:
		iterate := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity, SuffixList: []*gojq.Suffix{{Iter: true}}}}
		guarded = parenthesized(pipeline(of, pipeline(charge("__each"), iterate)))
	case s.Index != nil:
		guarded = g.index(of, s.Index)
	}
	switch {
	case guarded != nil && optional:
		body := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeTry, Try: &gojq.Try{Body: guarded}}}
		*t = *parenthesized(pipeline(&gojq.Query{Term: copyOf(t)}, body)).Term
	case guarded != nil:
		*t = *guarded.Term
	case optional:
		t.SuffixList = append(t.SuffixList, s, &gojq.Suffix{Optional: true})
	default:
		t.SuffixList = append(t.SuffixList, s)
	}
}

func copyOf(t *gojq.Term) *gojq.Term {
	other := *t
	return &other
}

// index is t[x], or nil if the cost is constant, as of a name if no errors are caught.
func (g *guarding) index(t *gojq.Query, x *gojq.Index) *gojq.Query {
	of := func(i *gojq.Index) *gojq.Query {
		return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIndex, Index: i}}
	}
	isName := x.Name != "" || x.Str != nil || !x.IsSlice && isText(x.Start)
	switch {
	case isName && !g.tries:
		return nil
	case isName:
		return parenthesized(pipeline(t, pipeline(charge("__named"), of(x))))
	case isConstantIndex(x):
		return parenthesized(pipeline(t, pipeline(charge("__part"), of(x))))
	}
	if !x.IsSlice {
		access := bind(call("__element", budgetVariable, call("$__k")), named("$__k"), of(&gojq.Index{Start: call("$__k")}))
		return bind(x.Start, named("$__k"), pipeline(t, access))
	}
	start, end := x.Start, x.End
	bounds := &gojq.Index{IsSlice: true}
	if start != nil {
		bounds.Start = call("$__s")
	}
	if end != nil {
		bounds.End = call("$__e")
	}
	out := parenthesized(pipeline(t, pipeline(charge("__part"), of(bounds))))
	if end != nil {
		out = bind(end, named("$__e"), out)
	}
	if start != nil {
		out = bind(start, named("$__s"), out)
	}
	return out
}

func isText(q *gojq.Query) bool {
	v, _ := constant(q)
	_, ok := v.(string)
	return ok
}

// textFunc converts the values in a string.
var textFunc = call("tostring")

// guardedText is a string with values in it, after a format if t has one.
func guardedText(t *gojq.Term) *gojq.Query {
	convert := textFunc
	if t.Type == gojq.TermTypeFormat {
		convert = &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFormat, Format: t.Format}}
	}
	return interpolated(t.Str, convert)
}

// interpolated is a string with values in it as a sum.
func interpolated(s *gojq.String, convert *gojq.Query) *gojq.Query {
	var sum *gojq.Query
	for _, part := range s.Queries {
		if part.Term == nil || part.Term.Str == nil {
			part = pipeline(part, convert)
		}
		if sum == nil {
			sum = part
			continue
		}
		sum = guardedOperator(gojq.OpAdd, sum, part)
	}
	return parenthesized(sum)
}

func guardedOperator(op gojq.Operator, left, right *gojq.Query) *gojq.Query {
	pair := &gojq.Pattern{Array: []*gojq.Pattern{named("$__l"), named("$__r")}}
	apply := &gojq.Query{Left: call("$__l"), Op: op, Right: call("$__r")}
	return bind(call(operators[op], budgetVariable, left, right), pair, apply)
}
