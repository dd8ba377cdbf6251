// Package delays computes how long a Stage waits before it is played on an object. Package delay is
// its public form; here callers pass the expression.Compiler and expression.Scope that the parts of
// a Stage share. Only this package reads the fields of a StageDelay. Other packages use a
// [Description] of the text of a Stage, or an [Explanation] of the delay of an object.
//
// # Concurrency
//
// A Delay is immutable and safe for concurrent use.
package delays

import (
	"time"

	"github.com/stagecraft-go/stagecraft/internal/expression"
)

// A Delay is a compiled StageDelay. The zero Delay means no delay.
type Delay struct {
	given   bool
	sources [parts]source
}

// A Range is the least and the greatest possible delay; delay.Range is its exported copy.
type Range struct {
	Given    bool
	Min, Max time.Duration
}

// An Explanation tells where a Range comes from; delay.Explanation is its exported copy.
type Explanation struct {
	Range
	// Base is the least delay without the jitter, and Jitter the value of the jitter, 0 without one.
	Base, Jitter time.Duration
	// Parts are the given parts of the delay, in the order of evaluation.
	Parts []Evaluation
}

// Range returns the delays that are possible for an object.
func (d *Delay) Range(s *expression.Scope) Range {
	values := d.evaluate(s)
	return rangeOf(&values)
}

// Explain returns the same as Range, and tells where the bounds come from.
func (d *Delay) Explain(s *expression.Scope) Explanation {
	values := d.evaluate(s)
	return explanation(&values)
}

// A values has the values of the parts of a delay for an object.
type values [parts]Evaluation

// evaluate evaluates the parts. The duration may give no delay; then the others are not evaluated.
func (d *Delay) evaluate(s *expression.Scope) (v values) {
	if !d.given {
		return v
	}
	for i := range d.sources {
		if v[i] = d.sources[i].evaluate(s); !v[duration].Given {
			break
		}
	}
	return v
}

// rangeOf combines the parts.
func rangeOf(v *values) Range {
	if !v[duration].Given {
		return Range{}
	}
	lower, upper := v[duration].Value, v[jitter].Value
	switch {
	case !v[jitter].Given:
		upper = lower
	case upper <= lower:
		lower = upper
	}
	return Range{Given: true, Min: lower, Max: upper}
}

func explanation(v *values) Explanation {
	e := Explanation{Range: rangeOf(v), Jitter: v[jitter].Value}
	plain := *v
	plain[jitter] = Evaluation{}
	e.Base = rangeOf(&plain).Min
	for _, p := range v {
		if p.Path != "" || p.Text != "" {
			e.Parts = append(e.Parts, p)
		}
	}
	return e
}
