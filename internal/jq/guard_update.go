package jq

import "github.com/itchyny/gojq"

// guardAssign rewrites l = r as
//
//	r as $__v | (__update($__budget; path(l); $__v) as [$__p, $__v] | getpath($__p)) = $__v
//
// It does not move a constant path, because gojq words its errors in another way. The path is the
// same on any input: (null | path(l))? // null.
func guardAssign(q *gojq.Query) {
	pair := &gojq.Pattern{Array: []*gojq.Pattern{named("$__p"), named("$__v")}}
	update := func(path *gojq.Query) *gojq.Query { return call("__update", budgetVariable, path, call("$__v")) }
	if !isConstant(q.Left) {
		target := bind(update(call("__path", q.Left)), pair, call("__getpath", call("$__p")))
		assign := &gojq.Query{Left: target, Op: gojq.OpAssign, Right: call("$__v")}
		replace(q, bind(q.Right, named("$__v"), assign))
		return
	}
	null := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeNull}}
	path := parenthesized(pipeline(null, call("__path", q.Left)))
	path.Term.SuffixList = []*gojq.Suffix{{Optional: true}}
	assign := &gojq.Query{Left: q.Left, Op: gojq.OpAssign, Right: call("$__v")}
	charged := bind(update(&gojq.Query{Left: path, Op: gojq.OpAlt, Right: null}), pair, assign)
	replace(q, bind(q.Right, named("$__v"), charged))
}

// guardedModify rewrites l |= f as
//
//	__begin($__budget) as $__u
//	  | (__update($__budget; __path(l); null) as [$__p] | __getpath($__p))
//	    |= ((f | __kept($__budget; $__u)), __gone($__budget; $__u))
//
// where gojq takes the second output of the right side only if f has none. It then deletes the
// place, and goes through the whole new value to do so, which __gone charges.
func guardedModify(l, f *gojq.Query) *gojq.Query {
	first := &gojq.Pattern{Array: []*gojq.Pattern{named("$__p")}}
	null := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeNull}}
	path := bind(call("__update", budgetVariable, call("__path", l), null), first, call("__getpath", call("$__p")))
	kept := parenthesized(pipeline(parenthesized(f), call("__kept", budgetVariable, call("$__u"), null)))
	gone := parenthesized(pipeline(call("__gone", budgetVariable, call("$__u"), null), call("empty")))
	modify := &gojq.Query{
		Left: path, Op: gojq.OpModify,
		Right: parenthesized(&gojq.Query{Left: kept, Op: gojq.OpComma, Right: gone}),
	}
	return bind(charge("__begin"), named("$__u"), modify)
}

// isConstant reports whether a path consists of names and constants only. Such a path has no input.
func isConstant(q *gojq.Query) bool { return q.Term != nil && isConstantTerm(q.Term) }

func isConstantTerm(t *gojq.Term) bool {
	for _, s := range t.SuffixList {
		if s.Index == nil || !isConstantIndex(s.Index) {
			return false
		}
	}
	switch t.Type {
	case gojq.TermTypeIndex:
		return isConstantIndex(t.Index)
	case gojq.TermTypeQuery:
		return isConstant(t.Query)
	}
	return false
}

func isConstantIndex(x *gojq.Index) bool {
	if x.Name != "" || x.Str != nil {
		return !isInterpolated(x.Str)
	}
	return isKey(x.Start) && isKey(x.End)
}

// isKey reports whether a bound or a key is missing, or a text or a number that gojq knows when it
// compiles.
func isKey(q *gojq.Query) bool {
	if q == nil {
		return true
	}
	v, ok := constant(q)
	_, isBool := v.(bool)
	isNull := q.Term != nil && q.Term.Type == gojq.TermTypeNull
	return ok && !isBool && !isNull || q.Term != nil && isNumber(q.Term)
}

func isNumber(t *gojq.Term) bool {
	if t.Type == gojq.TermTypeUnary {
		t = t.Unary.Term
	}
	return t.Type == gojq.TermTypeNumber && len(t.SuffixList) == 0
}

// dot is `.`, and budgetVariable is the budget of a run.
var (
	dot            = &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity}}
	budgetVariable = call("$__budget")
)

// charge is a guard that returns its input.
func charge(name string) *gojq.Query { return call(name, budgetVariable) }

func call(name string, args ...*gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name, Args: args}}}
}

func named(variable string) *gojq.Pattern { return &gojq.Pattern{Name: variable} }

func parenthesized(q *gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeQuery, Query: q}}
}

// pipeline is left | right.
func pipeline(left, right *gojq.Query) *gojq.Query {
	return &gojq.Query{Left: left, Op: gojq.OpPipe, Right: right}
}

// bind is (source as pattern | body).
func bind(source *gojq.Query, p *gojq.Pattern, body *gojq.Query) *gojq.Query {
	return parenthesized(&gojq.Query{Left: source, Op: gojq.OpPipe, Patterns: []*gojq.Pattern{p}, Right: body})
}

// replace replaces the expression of q. The function definitions of q stay.
func replace(q, with *gojq.Query) {
	*q = gojq.Query{FuncDefs: q.FuncDefs, Term: with.Term}
}
