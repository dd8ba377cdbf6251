package cel

import (
	"maps"
	"slices"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// A quantifier is exists or all, as a loop over the elements of a list or the keys of a map.
type quantifier struct {
	over, holds native
	enough      bool // the answer that decides: true for exists, false for all
	depth       int  // of macros around
	turn        int  // the cost of an element, but for that of calls
}

// macro compiles exists and all. Other macros make lists or maps, or are rare.
func (c *nativeCompiler) macro(e ast.ComprehensionExpr) native {
	predicate, enough := quantifies(e)
	over := unsorted(e.IterRange())
	if predicate == nil || len(c.bound) == maxNesting || !isField(over) {
		return nil
	}
	q := quantifier{over: c.of(over), enough: enough, depth: len(c.bound), turn: costOf(predicate)}
	inner := *c
	inner.bound = append(slices.Clone(c.bound), e.IterVar())
	q.holds = inner.of(predicate)
	if q.over == nil || q.holds == nil {
		return nil
	}
	return q.eval
}

// quantifies returns what the expansion of exists or all asks of an element, and which answer is
// enough; nil for other macros.
func quantifies(e ast.ComprehensionExpr) (predicate ast.Expr, enough bool) {
	if e.HasIterVar2() || e.LoopStep().Kind() != ast.CallKind || e.AccuInit().Kind() != ast.LiteralKind || !isIdent(e.Result(), e.AccuVar()) {
		return nil, false
	}
	step := e.LoopStep().AsCall()
	switch {
	case len(step.Args()) != 2 || !isIdent(step.Args()[0], e.AccuVar()):
		return nil, false
	case step.FunctionName() == operators.LogicalOr && e.AccuInit().AsLiteral() == types.False:
		return step.Args()[1], true
	case step.FunctionName() == operators.LogicalAnd && e.AccuInit().AsLiteral() == types.True:
		return step.Args()[1], false
	}
	return nil, false
}

func isIdent(e ast.Expr, name string) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == name }

// isField reports whether an expression can only be a part of what is given, not made by another
// macro.
func isField(e ast.Expr) bool {
	switch e.Kind() {
	case ast.IdentKind, ast.SelectKind:
		return true
	case ast.CallKind:
		return e.AsCall().FunctionName() == operators.Index
	}
	return false
}

func (q quantifier) eval(f *Frame) (any, error) {
	v, err := q.over(f)
	if err != nil {
		return nil, err
	}
	items, ok := elements(v)
	if !ok || !f.charge(len(items)+1) {
		return nil, ErrUnsure
	}
	t := tally{enough: q.enough}
	for _, item := range items {
		if f.bound[q.depth], err = sure(item); err != nil || !f.charge(q.turn) {
			return nil, ErrUnsure
		}
		if t.add(q.holds(f)) {
			break
		}
	}
	return t.result()
}

// elements are what a macro goes through, in its order.
func elements(v any) ([]any, bool) {
	switch x := v.(type) {
	case []any:
		return x, true
	case map[string]any:
		keys := make([]any, 0, len(x))
		for _, k := range slices.Sorted(maps.Keys(x)) {
			keys = append(keys, k)
		}
		return keys, true
	}
	return nil, false
}

// A tally combines answers as && and || do: one that is enough hides the errors of all others; else
// the first error counts.
type tally struct {
	enough  bool
	decided bool // by an answer that is enough
	err     error
}

// add reports whether nothing more needs to be asked.
func (t *tally) add(v any, err error) bool {
	b, ok := v.(bool)
	switch {
	case err == ErrUnsure, err == nil && !ok:
		t.err = ErrUnsure
		return true
	case err == nil && b == t.enough:
		t.decided, t.err = true, nil
		return true
	case t.err == nil:
		t.err = err
	}
	return false
}

func (t *tally) result() (any, error) {
	if t.err != nil {
		return nil, t.err
	}
	return t.decided == t.enough, nil
}

// costOf is what cel-go counts, at most, when it goes through an expression once, but for what
// calls charge.
func costOf(e ast.Expr) int {
	cost := 8 // of the loop around
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		cost += 2
		if e.Kind() == ast.ListKind {
			cost += common.ListCreateBaseCost
		}
	}))
	return cost
}

// costOfCall is at least what cel-go counts for any of the native functions: they go through one
// argument, or through one for each part of the other.
func costOfCall(x, y any) int {
	return (size(x)/10+2)*(size(y)/4+2) + size(y)
}

func size(v any) int {
	switch x := v.(type) {
	case string:
		return len(x)
	case []any:
		return len(x)
	case map[string]any:
		return len(x)
	}
	return 1
}
