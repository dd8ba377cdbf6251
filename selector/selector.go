// Package selector decides whether an object meets the selector of a Stage: labels, annotations,
// and expressions in jq and CEL, all compiled before the first object is seen.
//
// # Usage
//
//	sel, err := selector.Compile(stage.Spec.Selector, selector.Options{})
//	if err != nil {
//		return err // every fault, each an [*Error] with its path
//	}
//	if sel.Match(obj, time.Now()) { … }
//
// # Semantics
//
// All requirements must hold: labels, then annotations, then expressions in the order given. A nil
// StageSelector matches nothing, an empty one everything. The outputs of a jq program, nulls
// dropped, are compared by operator:
//
//   - In: some output is a string, bool or number that is written like one of the values (the
//     number 3 is "3").
//   - NotIn: not In.
//   - Exists: there is an output; "", [] and false exist.
//   - DoesNotExist: not Exists.
//
// A jq program that fails has no output; a CEL expression that fails, or whose result is not a
// bool, makes its requirement false. Neither hides the other requirements, and [Selector.Explain]
// shows both.
//
// # Determinism
//
// The same selector, object and time give the same answer on every machine. jq `now` and CEL
// `Now()` are the time that is given; CEL `Rand()` draws the same numbers in every evaluation.
//
// # Concurrency
//
// A Selector is immutable and safe for concurrent use.
//
// # Compatibility
//
// The behaviour is kwok's, with the differences listed in the documentation of package stage.
package selector

import (
	"time"

	"github.com/google/cel-go/cel"

	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/internal/parts"
	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// Options are the limits of evaluations and further functions. The zero value of each field means
// its default. Limits are counted in steps, never in time, so that an answer does not depend on the
// machine.
type Options struct {
	// JQSteps limits the instructions of a jq program in one evaluation. Default 100,000.
	JQSteps int
	// ExpressionSize limits, in bytes, what the operators of one evaluation in jq build and read, all added
	// up, and the largest value that one operator of a CEL expression builds. Default 16 MiB.
	ExpressionSize int
	// CELCost limits an evaluation in CEL, in steps of about 100 ns: turns of loops, calls, elements and
	// bytes that they look at, states of regular expressions. Default 100,000.
	CELCost uint64
	// JQFunctions are more functions for jq, by name and number of arguments, as jq writes them:
	// "double/0". They take their input and arguments as functions of gojq do (nil, bool, int,
	// float64, *big.Int, string, []any, map[string]any), must not change them, and return a JSON
	// value or an error. They cannot replace functions of jq.
	JQFunctions map[string]func(input any, args []any) any
	// CELOptions are more functions, macros, types and libraries for CEL, as cel-go takes them.
	// Functions must be pure. Both kinds must be safe for concurrent use, and bound their own work.
	CELOptions []cel.EnvOption
}

// Error is one fault of a selector. [Compile] joins one for each.
type Error struct {
	// Path is the field, relative to the selector, such as matchExpressions[1].key.
	Path string
	// Offset is the byte in the text of the field at which the fault is; negative if it is the
	// whole field.
	Offset int
	// Warning is whether the selector works, but cannot be meant.
	Warning bool
	// Err says what is wrong.
	Err error
}

// Error prints "path: what is wrong".
func (e *Error) Error() string { return (*position.Error)(e).Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// A Selector is a compiled StageSelector. It is immutable and safe for concurrent use.
type Selector struct{ compiled *parts.Selector }

// Compile prepares a selector, or returns every fault of it: the error joins an [*Error] for each.
// When all of them are warnings, the Selector comes with the error, and a lenient caller may use
// it.
func Compile(s *v1alpha1.StageSelector, o Options) (*Selector, error) {
	compiled, err := parts.CompileSelector(s, expression.NewCompiler(expression.Options(o)))
	err = position.Convert(err, func(e *position.Error) error { return (*Error)(e) })
	if compiled == nil {
		return nil, err
	}
	return &Selector{compiled}, err
}

// Match reports whether obj, a JSON object, meets the selector at the time now. It neither changes
// nor keeps obj.
func (s *Selector) Match(obj map[string]any, now time.Time) bool {
	return s.compiled.Match(expression.NewScope(obj, now))
}

// Requirement tells how one requirement of a selector fared with an object.
type Requirement struct {
	Path string // the field of the selector
	Text string // the requirement in words, such as `.status.phase In [Running]`
	Seen []any  // the values found in the object, empty if none; of CEL one for each field that it names, nil where there is none
	OK   bool   // whether it holds
	Err  error  // the run-time error that was passed over, if any
}

// Explain evaluates every requirement, also those after the first that fails. It neither changes
// nor keeps obj; values in Seen may be parts of it.
func (s *Selector) Explain(obj map[string]any, now time.Time) []Requirement {
	seen := s.compiled.Explain(expression.NewScope(obj, now))
	requirements := make([]Requirement, len(seen))
	for i, r := range seen {
		requirements[i] = Requirement(r)
	}
	return requirements
}
