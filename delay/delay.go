// Package delay computes how long a Stage waits before it is played on an object. A Stage gives a
// duration and an upper bound, each a constant or read from the object by jq or CEL. One random
// number picks a delay between the two.
//
// # Terminology
//
// The duration is the least delay. The jitter is the upper bound of the delay, not an addend: a
// duration of 1s with a jitter of 5s gives a delay in [1s, 5s). A jitter that is not greater than
// the duration is the delay itself.
//
// # Usage
//
//	d, err := delay.Compile(stage.Spec.Delay, delay.Options{})
//	if err != nil {
//		return err // every fault, each an [*Error] with its path
//	}
//	r := d.Range(obj, now)
//	due := now.Add(r.Pick(rand.Uint64()))
//
// # Semantics
//
// The result of a jq program is its first output that is not null, if it is a string. "" means no
// delay (or no jitter). An RFC 3339 time means that time minus now, which can be negative. Any
// other string is read as a Go duration such as 1m30s. A CEL result may also be a duration, a
// timestamp (minus now) or a number of nanoseconds. If an expression yields none of these, the
// milliseconds field is used.
//
// # Determinism
//
// The same delay, object and time give the same [Range] on every machine. The same random number
// picks the same delay of a Range. jq `now` and CEL `Now()` return the time that the caller passes;
// CEL `Rand()` draws the same numbers in every evaluation.
//
// # Concurrency
//
// A Delay is immutable and safe for concurrent use.
//
// # Compatibility
//
// Delays mean what they mean in kwok, except for the differences listed in COMPATIBILITY.md.
package delay

import (
	"math/bits"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/internal/parts"
	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/selector"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// Options are the limits of evaluations and further functions, the same as for selectors.
type Options = selector.Options

// Error is one fault of a delay. [Compile] joins an Error for each fault.
type Error struct {
	// Path is the field, relative to the delay, such as durationFrom.jq.expression.
	Path string
	// Offset is the position of the fault in the text of the field, in bytes. It is negative if the
	// whole field is wrong.
	Offset int
	// Warning reports that the delay works, but probably not as its author meant.
	Warning bool
	// Err says what is wrong.
	Err error
}

// Error prints "path: what is wrong".
func (e *Error) Error() string { return (*position.Error)(e).Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// A Delay is a compiled StageDelay. It is immutable and safe for concurrent use.
type Delay struct{ delay *parts.Delay }

// Compile prepares a delay, or returns all its faults: the error joins an [*Error] for each fault.
// If all faults are warnings, Compile returns both the Delay and the error, and a lenient caller
// can use the Delay. A nil StageDelay means no delay.
func Compile(d *v1alpha1.StageDelay, o Options) (*Delay, error) {
	compiled, err := parts.CompileDelay(d, expression.NewCompiler(expression.Options(o)))
	err = position.Convert(err, func(e *position.Error) error { return (*Error)(e) })
	if compiled == nil {
		return nil, err
	}
	return &Delay{compiled}, err
}

// Range is the possible delays for one object.
type Range struct {
	// Given is false without a delay: the Stage has none, or durationFrom read "".
	Given bool
	// Min is the least delay. All delays are less than Max, unless Max equals Min: then the delay
	// is always Min. Both may be negative.
	Min, Max time.Duration

	draw *distribution // the distribution of the delays; nil means uniform
}

// Pick returns the delay for a random number. Delays are uniform over the range, or follow the
// distribution of an [Extension].
func (r Range) Pick(random uint64) time.Duration {
	switch {
	case r.Max <= r.Min:
		return r.Min
	case r.draw != nil:
		return plus(r.Min-r.draw.least(), r.draw.pick(random))
	}
	offset, _ := bits.Mul64(random, uint64(r.Max)-uint64(r.Min))
	return r.Min + time.Duration(offset)
}

// Drawn reports whether the delays follow the distribution of an [Extension].
func (r Range) Drawn() bool { return r.draw != nil }

// String prints "none", "1s", "[1s, 5s)" or "1s + exponential (mean 3s)".
func (r Range) String() string {
	switch {
	case !r.Given:
		return "none"
	case r.draw != nil && r.Min == r.draw.least():
		return r.draw.String()
	case r.draw != nil:
		return (r.Min - r.draw.least()).String() + " + " + r.draw.String()
	case r.Max <= r.Min:
		return r.Min.String()
	default:
		return "[" + r.Min.String() + ", " + r.Max.String() + ")"
	}
}

// Range returns the possible delays for obj, a JSON object, at the time now. Range neither changes
// nor keeps obj.
func (d *Delay) Range(obj map[string]any, now time.Time) Range {
	return rangeOf(d.delay.Range(expression.NewScope(obj, now)))
}

func rangeOf(r parts.DelayRange) Range { return Range{Given: r.Given, Min: r.Min, Max: r.Max} }

// Explanation tells how a [Range] came about.
type Explanation struct {
	Range Range
	// Base is the least delay without the jitter, and Jitter the value of the jitter: 0 without one. An
	// Extension adds to Base.
	Base, Jitter time.Duration
	// Parts tells where each part of the delay comes from, in the order of evaluation: duration,
	// jitter. If the duration is not given, Parts has no jitter.
	Parts []Evaluation
	// Extension is the extension that changed the range after the evaluation; nil without one. A
	// jitter that the extension replaces is not in Parts.
	Extension *Extension
}

// An Evaluation tells where one part of a delay comes from.
type Evaluation struct {
	// Name is duration or jitter.
	Name string
	// Meaning says what the part does if the name does not say so: "the upper bound".
	Meaning string
	// Path is the field that gave the value, relative to the delay: the expression, or the
	// milliseconds if the expression yields nothing. Path is "" if neither gives a value.
	Path string
	// Text is the source of the expression; "" without an expression.
	Text string
	// Seen is the result of the expression, a JSON value, time.Duration or time.Time; nil without a
	// result.
	Seen any
	// Value is valid if Given is true. It may be negative.
	Value time.Duration
	Given bool
	// Err says why the expression was not used: it failed, or its result is not a duration.
	Err error
}

// Explain returns the same Range as [Delay.Range]. It also tells where the bounds come from and
// which errors were ignored.
func (d *Delay) Explain(obj map[string]any, now time.Time) Explanation {
	e := d.delay.Explain(expression.NewScope(obj, now))
	x := Explanation{Range: rangeOf(e.DelayRange), Base: e.Base, Jitter: e.Jitter}
	for _, p := range e.Parts {
		x.Parts = append(x.Parts, Evaluation(p))
	}
	return x
}
