// Package expect says in tests, in words or as Go values, what the metrics of a run should be.
//
// # Usage
//
//	expect.Require(t, log,
//		"p99(scheduling latency) < 2s",
//		"1 <= mean(pending pods) <= 12.5",
//		"count(job completion time) == 100",
//		"max(utilization of nvidia.com/gpu) <= 100%",
//	)
//
// [Parse] says how they are written; package measure has the metrics and says what a quantile is.
//
// # Concurrency
//
// All functions are pure and all types immutable and safe for concurrent use.
package expect

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/stagecraft-go/stagecraft/stage/simulation/measure"
	"github.com/stagecraft-go/stagecraft/stage/simulation/record"
)

// An Assertion is what is expected of a run. It is immutable, and made by [Parse] or written as a [Range].
type Assertion interface {
	// Check returns an error that says what is otherwise, nil if the run is as expected. A metric without values is never as expected, but
	// its count is 0.
	Check(log record.Log) error
}

// TestingT is a *testing.T.
type TestingT interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Require ends a test if a run is not as expected, or an assertion cannot be read. It tells all that is wrong.
func Require(t TestingT, log record.Log, assertions ...string) {
	t.Helper()
	var errs []error
	for _, text := range assertions {
		a, err := Parse(text)
		if err == nil {
			err = a.Check(log)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("%v", err)
	}
}

// A Range expects a statistic of a metric to be between two values, both included. Durations are in seconds.
type Range struct {
	Metric    measure.Metric
	Statistic func(measure.Sample) float64 // such as measure.Sample.Mean, or expect.Quantile(0.99)
	Min, Max  float64                      // math.Inf(1) is no limit
}

// Check implements [Assertion].
func (r Range) Check(log record.Log) error {
	switch v := r.Statistic(r.Metric.Sample(log)); {
	case math.IsNaN(v):
		return fmt.Errorf("%s: there are no values", r.Metric.Name)
	case v < r.Min || v > r.Max:
		return fmt.Errorf("%s: want %s to %s, got %s", r.Metric.Name, number(r.Min), number(r.Max), number(v))
	}
	return nil
}

// Quantile returns a statistic.
func Quantile(share float64) func(measure.Sample) float64 {
	return func(s measure.Sample) float64 { return s.Quantile(share) }
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// A chain is values of which each is compared with the next.
type comparison struct {
	text      string
	operands  []operand
	operators []string // one less
}

// Check implements Assertion.
func (c comparison) Check(log record.Log) error {
	values := make([]float64, len(c.operands))
	for i, t := range c.operands {
		if values[i] = t.value(log); math.IsNaN(values[i]) {
			return fmt.Errorf("%s: %s has no values", c.text, t.text)
		}
	}
	for i, sign := range c.operators {
		if !operators[sign](values[i], values[i+1]) {
			return fmt.Errorf("%s: %s", c.text, c.valuesAt(i, values))
		}
	}
	return nil
}

// found tells the values on both sides of a sign.
func (c comparison) valuesAt(i int, values []float64) string {
	s := ""
	for n := i; n <= i+1; n++ {
		if c.operands[n].metric == nil {
			continue
		}
		if s != "" {
			s += ", "
		}
		s += c.operands[n].text + " is " + c.operands[n].unit.print(values[n])
	}
	return s
}

// signs are the comparisons.
var operators = map[string]func(a, b float64) bool{
	"<":  func(a, b float64) bool { return a < b },
	"<=": func(a, b float64) bool { return a <= b },
	">":  func(a, b float64) bool { return a > b },
	">=": func(a, b float64) bool { return a >= b },
	"==": func(a, b float64) bool { return a == b },
	"!=": func(a, b float64) bool { return a != b },
}

// A term is a number, or a statistic of a metric.
type operand struct {
	text      string
	column    int // in the assertion, from 1
	unit      unit
	number    float64
	metric    *measure.Metric // nil for a number
	statistic func(measure.Sample) float64
}

func (t operand) value(log record.Log) float64 {
	if t.metric == nil {
		return t.number
	}
	return t.statistic(t.metric.Sample(log))
}

// A unit is what values are of.
type unit int

const (
	plain    unit = iota // a number
	duration             // seconds
	zero                 // 0, which is both
)

func (u unit) print(v float64) string {
	if u == duration {
		return number(v) + "s"
	}
	return number(v)
}
