// Package delays computes how long an object stays before a Stage is played on it. It is what
// package delay offers to everybody, with the expression.Compiler and expression.Scope that the
// parts of a Stage share.
//
// # Concurrency
//
// A Delay is immutable and safe for concurrent use.
package delays

import (
	"time"

	"github.com/stagecraft-go/stagecraft/internal/expression"
)

// A Delay is a compiled StageDelay. The zero Delay is none.
type Delay struct{ duration, jitter source }

// A Range is a delay.Range.
type Range struct {
	Given    bool
	Min, Max time.Duration
}

// An Explanation is a delay.Explanation.
type Explanation struct {
	Range            Range
	Duration, Jitter Evaluation
}

// Range returns the delays that are possible for an object.
func (d *Delay) Range(s *expression.Scope) Range { return d.Explain(s).Range }

// Explain is Range that tells where the bounds come from.
func (d *Delay) Explain(s *expression.Scope) (e Explanation) {
	if e.Duration = d.duration.evaluate(s); !e.Duration.Given {
		return e
	}
	e.Jitter = d.jitter.evaluate(s)
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
