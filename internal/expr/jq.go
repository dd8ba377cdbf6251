package expr

import (
	"fmt"

	"github.com/itchyny/gojq"
)

// JQ is a compiled jq program. It is immutable and safe for concurrent use.
type JQ struct {
	native step       // nil: code runs
	root   root       // the input of native
	code   *gojq.Code // nil: native runs
	work   Work
	limits Options
}

// JQ compiles a jq program. The error is a *position.Error at the faulty token: a fault of syntax, a function or variable
// that does not exist, or one that is refused because a Stage has no use for it (see the package comment).
func (c *Compiler) JQ(source string) (*JQ, error) {
	query, err := parseJQ(source)
	if err != nil {
		return nil, err
	}
	if p, ok := nativeJQ(query); ok {
		return p, nil
	}
	code, err := compileGuarded(query)
	if err != nil {
		return nil, fault(undefinedAt(source, query), err)
	}
	return &JQ{code: code, work: Interpret, limits: c.options}, nil
}

// nativeJQ compiles a program that is in the native subset.
func nativeJQ(query *gojq.Query) (*JQ, bool) {
	root, rest := beheaded(query)
	if v, ok := valueOf(rest); ok {
		return &JQ{native: then(v, collect), root: root, work: Lookup}, true
	}
	first, ok := steps(rest, collect)
	return &JQ{native: first, root: root, work: Search}, ok
}

// Outputs returns all outputs in order, nulls included, or the error that ended the program; the outputs before it are
// lost, as in `jq -e`. Values are nil, bool, string, int64, float64, json.Number (integers beyond int64), []any and
// map[string]any; maps and lists may be the object's own, so treat them as read-only. The slice is valid until the next call on s.
func (q *JQ) Outputs(s *Scope) ([]any, error) {
	if err := q.eval(s); err != nil {
		return nil, err
	}
	return s.run.outputs, nil
}

// Work says what an evaluation takes.
func (q *JQ) Work() Work { return q.work }

func (q *JQ) eval(s *Scope) error {
	s.run.outputs = s.run.outputs[:0]
	if q.native == nil {
		return q.interpret(s)
	}
	in, _ := s.root(q.root)
	return q.native(&s.run, plain(in))
}

// interpret runs the program with gojq. What gojq might do on values of its own making is no reason to take the caller down.
func (q *JQ) interpret(s *Scope) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("gojq: %v", r)
		}
	}()
	b := &s.budget
	*b = budget{steps: q.limits.Steps, maxSteps: q.limits.Steps, size: q.limits.Size, maxSize: q.limits.Size}
	outputs := q.code.RunWithContext(b, s.normal(), b, unixSeconds(s.Now))
	for v, ok := outputs.Next(); ok; v, ok = outputs.Next() {
		if b.failure != nil {
			return b.failure
		}
		if err, ok := v.(error); ok {
			return err
		}
		if err := b.charge(walk(v, b.size)); err != nil { // what shares memory does not after result
			return err
		}
		s.run.outputs = append(s.run.outputs, result(v))
	}
	return b.failure
}
