package parts

import (
	"time"

	"github.com/stagecraft-go/stagecraft/internal/expression"
)

// A Delay is a compiled StageDelay. The zero Delay means no delay.
type Delay struct {
	given   bool
	sources [delayParts]source
}

// A DelayRange is the least and the greatest possible delay; delay.Range is its exported copy.
type DelayRange struct {
	Given    bool
	Min, Max time.Duration
}

// A DelayExplanation tells where a DelayRange comes from; delay.Explanation is its exported copy.
type DelayExplanation struct {
	DelayRange
	// Base is the least delay without the jitter, and Jitter the value of the jitter, 0 without one.
	Base, Jitter time.Duration
	// Parts are the given parts of the delay, in the order of evaluation.
	Parts []DelayEvaluation
}

// Range returns the delays that are possible for an object.
func (d *Delay) Range(s *expression.Scope) DelayRange {
	values := d.evaluate(s)
	return rangeOf(&values)
}

// Explain returns the same as Range, and tells where the bounds come from.
func (d *Delay) Explain(s *expression.Scope) DelayExplanation {
	values := d.evaluate(s)
	return explanation(&values)
}

// A values has the values of the parts of a delay for an object.
type values [delayParts]DelayEvaluation

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
func rangeOf(v *values) DelayRange {
	if !v[duration].Given {
		return DelayRange{}
	}
	lower, upper := v[duration].Value, v[jitter].Value
	switch {
	case !v[jitter].Given:
		upper = lower
	case upper <= lower:
		lower = upper
	}
	return DelayRange{Given: true, Min: lower, Max: upper}
}

func explanation(v *values) DelayExplanation {
	e := DelayExplanation{DelayRange: rangeOf(v), Jitter: v[jitter].Value}
	plain := *v
	plain[jitter] = DelayEvaluation{}
	e.Base = rangeOf(&plain).Min
	for _, p := range v {
		if p.Path != "" || p.Text != "" {
			e.Parts = append(e.Parts, p)
		}
	}
	return e
}
