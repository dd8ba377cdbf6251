// Package delay computes how long an object stays before a Stage is played on it: a duration and an upper bound, each a
// constant or read from the object by jq or CEL, and one random number in between.
//
// # Terminology
//
// The duration is the least delay. The jitter is the upper bound of the delay, not an addend: a duration of 1s with a jitter of 5s gives a
// delay in [1s, 5s), and a jitter that is not greater than the duration is the delay itself.
//
// # Usage
//
//	d, err := delay.Compile(stage.Spec.Delay, nil)
//	if err != nil {
//		return err // every fault, each with its path
//	}
//	r := d.Range(obj, now)
//	due := now.Add(r.Pick(rand.Uint64()))
//
// # Semantics
//
// The first output of a jq program that is not null counts, if it is a string: "" is no delay at all (or no jitter), an RFC 3339
// time is that time minus now, and may be negative, anything else is a Go duration such as 1m30s. A CEL result may also be a duration, a timestamp
// (minus now) or a number of nanoseconds. Where an expression yields none of these, the milliseconds field counts.
//
// # Concurrency
//
// A Delay is immutable and safe for concurrent use.
//
// # Compatibility
//
// The behaviour is kwok's, with the differences listed in the documentation of package stage.
package delay

import (
	"math/bits"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/expr"
	"github.com/stagecraft-go/stagecraft/internal/position"
)

// Error is one fault of a delay: Path (the field, relative to the delay), Offset (the byte in the text of the
// expression, -1 if unknown), Err, and Warning (the delay works, but cannot be meant).
type Error = position.Error

// A Delay is a compiled StageDelay. It is immutable and safe for concurrent use.
type Delay struct {
	duration, jitter source
	none             bool // no delay was given
}

// Range is the delays that are possible for one object.
type Range struct {
	// Given is false if there is no delay at all: none in the Stage, or durationFrom read "".
	Given bool
	// Min is the least delay and Max the bound that is not reached; Max is Min where the delay is always the same. Both may be negative.
	Min, Max time.Duration
}

// Pick chooses the delay that belongs to a random number, uniformly over the range.
func (r Range) Pick(random uint64) time.Duration {
	if r.Max <= r.Min {
		return r.Min
	}
	offset, _ := bits.Mul64(random, uint64(r.Max)-uint64(r.Min))
	return r.Min + time.Duration(offset)
}

// String prints "none", "1s" or "[1s, 5s)".
func (r Range) String() string {
	switch {
	case !r.Given:
		return "none"
	case r.Max <= r.Min:
		return r.Min.String()
	default:
		return "[" + r.Min.String() + ", " + r.Max.String() + ")"
	}
}

// Range returns the delays that are possible for obj, a JSON object, seen at the time now. It neither changes nor keeps obj.
func (d *Delay) Range(obj map[string]any, now time.Time) Range {
	return d.Eval(expr.NewScope(obj, now))
}

// Eval is Range on an object that is already prepared, for the other packages of this module.
func (d *Delay) Eval(s *expr.Scope) Range { return d.ExplainEval(s).Range }

// Explanation tells how a [Range] came about.
type Explanation struct {
	Range Range
	// Duration and Jitter are where its bounds come from. Jitter was not asked for if Duration is not given.
	Duration, Jitter Reading
}

// Explain is Range that tells where the bounds come from, and which errors were passed over.
func (d *Delay) Explain(obj map[string]any, now time.Time) Explanation {
	return d.ExplainEval(expr.NewScope(obj, now))
}

// ExplainEval is Explain on an object that is already prepared, for the other packages of this module.
func (d *Delay) ExplainEval(s *expr.Scope) (e Explanation) {
	if d.none {
		return e
	}
	if e.Duration = d.duration.read(s); !e.Duration.Given {
		return e
	}
	e.Jitter = d.jitter.read(s)
	lower, upper := e.Duration.Value, e.Jitter.Value
	switch {
	case !e.Jitter.Given:
		upper = lower
	case upper <= lower:
		lower = upper
	}
	e.Range = Range{Given: true, Min: lower, Max: upper}
	return e
}
