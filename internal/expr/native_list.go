package expr

import (
	"errors"

	"github.com/itchyny/gojq"
)

// errStop ends the steps of a program, because no further output matters.
var errStop = errors.New("enough outputs")

// quantifiedValue compiles any and all, with a generator and a predicate, with a predicate, or without arguments. Outputs after the one that decides are
// not asked for, so their errors do not count.
func quantifiedValue(f *gojq.Func) (value, bool) {
	generator, predicate, enough := everyElement(), identity(), f.Name == "any"
	switch len(f.Args) {
	case 2:
		generator, predicate = f.Args[0], f.Args[1]
	case 1:
		predicate = f.Args[0]
	}
	holds, ok := valueOf(predicate)
	if !ok {
		return nil, false
	}
	ask, ok := steps(generator, untilTruth(holds, enough))
	return func(v any) (any, error) {
		switch err := ask(nil, v); err {
		case nil:
			return !enough, nil
		case errStop:
			return enough, nil
		default:
			return nil, err
		}
	}, ok
}

// untilTruth stops at a value of whose predicate the truth is enough.
func untilTruth(holds value, enough bool) step {
	return func(_ *run, v any) error {
		switch answer, err := holds(v); {
		case err == errNone:
			return nil
		case err != nil:
			return err
		case truth(answer) == enough:
			return errStop
		}
		return nil
	}
}

// listValue compiles [q].
func listValue(q *gojq.Query) (value, bool) {
	if q == nil {
		return func(any) (any, error) { return []any{}, nil }, true
	}
	each, ok := steps(q, collect)
	return func(v any) (any, error) {
		r := run{outputs: []any{}}
		if err := each(&r, v); err != nil {
			return nil, err
		}
		return r.outputs, nil
	}, ok
}

// mapValue compiles map(q), which is [.[] | q].
func mapValue(q *gojq.Query) (value, bool) {
	return listValue(&gojq.Query{Left: everyElement(), Op: gojq.OpPipe, Right: q})
}

// everyElement is .[].
func everyElement() *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity, SuffixList: []*gojq.Suffix{{Iter: true}}}}
}
