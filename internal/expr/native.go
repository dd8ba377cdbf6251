package expr

import (
	"errors"

	"github.com/itchyny/gojq"
)

// A step is the rest of a native program: it takes a value and passes on what comes of it, ending at collect. Steps are
// composed when the program is compiled, each holding the next one, so that running them allocates nothing.
type step func(r *run, v any) error

// A value is a part of a native program that has at most one output for an input; errNone if it has none.
type value func(v any) (any, error)

// run collects the outputs of a native program.
type run struct{ outputs []any }

var errNone = errors.New("no output")

func collect(r *run, v any) error {
	r.outputs = append(r.outputs, v)
	return nil
}

// steps compiles q, followed by next. It is false if q is outside the native subset. What is in it does work that is
// bounded by the size of the object: nothing repeats, and nothing has two outputs for one place in the object. A wider
// subset that does (`,`, `..`, `range`) has to count steps in run.
func steps(q *gojq.Query, next step) (step, bool) {
	if v, ok := valueOf(q); ok {
		return then(v, next), true
	}
	switch {
	case !plainQuery(q):
		return nil, false
	case q.Term != nil:
		return termSteps(q.Term, next)
	case q.Op == gojq.OpPipe:
		right, ok := steps(q.Right, next)
		if !ok {
			return nil, false
		}
		return steps(q.Left, right)
	}
	return nil, false
}

// plainQuery reports that q defines no functions and binds no variables.
func plainQuery(q *gojq.Query) bool {
	return q != nil && q.Meta == nil && len(q.Imports) == 0 && len(q.FuncDefs) == 0 && len(q.Patterns) == 0
}

func termSteps(t *gojq.Term, next step) (step, bool) {
	n := len(t.SuffixList)
	if n == 0 {
		if t.Type != gojq.TermTypeQuery {
			return nil, false
		}
		return steps(t.Query, next)
	}
	last := t.SuffixList[n-1]
	if !last.Optional {
		return suffixSteps(t, n-1, next, false)
	}
	if n == 1 {
		return nil, false
	}
	return suffixSteps(t, n-2, next, true)
}

// suffixSteps compiles the term up to and with suffix i. The `?` of jq belongs to the last suffix before it alone.
func suffixSteps(t *gojq.Term, i int, next step, optional bool) (step, bool) {
	suffix, head := t.SuffixList[i], shortened(t, i)
	switch {
	case suffix.Iter:
		return steps(head, iterate(next, optional))
	case suffix.Index != nil:
		v, ok := indexValue(suffix.Index, optional)
		if !ok {
			return nil, false
		}
		return steps(head, then(v, next))
	}
	return nil, false
}

// shortened is the term with its first n suffixes, as a query.
func shortened(t *gojq.Term, n int) *gojq.Query {
	head := *t
	head.SuffixList = t.SuffixList[:n]
	return &gojq.Query{Term: &head}
}

func then(v value, next step) step {
	return func(r *run, in any) error {
		out, err := v(in)
		if err == errNone {
			return nil
		}
		if err != nil {
			return err
		}
		return next(r, out)
	}
}

func iterate(next step, optional bool) step {
	misfit := misfitOf("cannot iterate over: ")
	return func(r *run, v any) error {
		switch x := v.(type) {
		case []any:
			for _, e := range x {
				if err := next(r, plain(e)); err != nil {
					return err
				}
			}
			return nil
		case map[string]any:
			return iterateMap(r, x, next)
		}
		if optional {
			return nil
		}
		return misfit.error(v)
	}
}

func iterateMap(r *run, m map[string]any, next step) error {
	for _, k := range sortedKeys(m) {
		if err := next(r, plain(m[k])); err != nil {
			return err
		}
	}
	return nil
}
