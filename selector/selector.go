// Package selector decides whether an object meets the selector of a Stage. A selector has labels,
// annotations, and expressions in jq and CEL. All are compiled before the first object is seen.
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
// All requirements must hold: labels, then annotations, then expressions in the given order. A nil
// StageSelector matches no object, an empty one matches every object. The operator compares the
// outputs of a jq program, without nulls:
//
//   - In: an output is a string, bool or number whose text is one of the values (the text of the
//     number 3 is "3").
//   - NotIn: not In.
//   - Exists: the program has an output. "", [] and false are outputs.
//   - DoesNotExist: not Exists.
//
// A jq program that fails has no output. A CEL expression that fails, or whose result is not a
// bool, makes its requirement false. Other requirements are still evaluated, and [Selector.Explain]
// shows the errors.
//
// # Determinism
//
// The same selector, object and time give the same answer on every machine. jq `now` and CEL
// `Now()` return the time that the caller passes; CEL `Rand()` draws the same numbers in every
// evaluation.
//
// # Concurrency
//
// A Selector is immutable and safe for concurrent use.
//
// # Compatibility
//
// Selectors mean what they mean in kwok, except for the differences listed in COMPATIBILITY.md.
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
	// ExpressionSize is a limit in bytes. In jq it limits the sum of what the operators of one
	// evaluation build and read. In CEL it limits the largest value that one operator builds.
	// Default 16 MiB.
	ExpressionSize int
	// CELCost limits an evaluation in CEL, in steps of about 100 ns. Loop iterations, calls, the
	// elements and bytes that they read, and states of regular expressions count as steps. Default
	// 100,000.
	CELCost uint64
	// JQFunctions are more functions for jq, by name and number of arguments, as jq writes them:
	// "double/0". They take their input and arguments like functions of gojq (nil, bool, int,
	// float64, *big.Int, string, []any, map[string]any). They must not change them, and return a
	// JSON value or an error. They cannot replace functions of jq.
	JQFunctions map[string]func(input any, args []any) any
	// CELOptions are more functions, macros, types and libraries for CEL, as cel-go takes them.
	// Functions must be pure. Both kinds must be safe for concurrent use, and bound their own work.
	CELOptions []cel.EnvOption
}

// Error is one fault of a selector. [Compile] joins an Error for each fault.
type Error struct {
	// Path is the field, relative to the selector, such as matchExpressions[1].key.
	Path string
	// Offset is the position of the fault in the text of the field, in bytes. It is negative if the
	// whole field is wrong.
	Offset int
	// Warning reports that the selector works, but probably not as its author meant.
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

// Compile prepares a selector, or returns all its faults: the error joins an [*Error] for each
// fault. If all faults are warnings, Compile returns both the Selector and the error, and a lenient
// caller can use the Selector.
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

// Requirement is the result of one requirement of a selector for an object.
type Requirement struct {
	Path string // the field of the selector
	Text string // the requirement in words, such as `.status.phase In [Running]`
	Seen []any  // the values found in the object, or empty; for CEL one for each field that the expression names, nil for a missing field
	OK   bool   // whether it holds
	Err  error  // the run-time error that was ignored, or nil
}

// Explain evaluates every requirement, even after one fails. It neither changes nor keeps obj;
// values in Seen can be parts of obj.
func (s *Selector) Explain(obj map[string]any, now time.Time) []Requirement {
	seen := s.compiled.Explain(expression.NewScope(obj, now))
	requirements := make([]Requirement, len(seen))
	for i, r := range seen {
		requirements[i] = Requirement(r)
	}
	return requirements
}
