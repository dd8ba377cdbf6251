// Package expect checks metrics of a run in tests. An expectation is text or a Go value.
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
// Your own metrics also have names:
//
//	own := expect.Metrics{measure.Between("queue time", "Workload.kueue.x-k8s.io", nil, measure.In("Admitted"))}
//	own.Require(t, log, "p99(queue time) < 1m", "mean(queue time from 10m to 1h) < 20s")
//
// [Parse] describes the syntax; package measure describes the metrics and quantiles.
//
// # Concurrency
//
// All functions are pure, and all types are immutable and safe for concurrent use.
package expect

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/stagecraft-go/stagecraft/stage/lab/measure"
	"github.com/stagecraft-go/stagecraft/stage/lab/record"
)

// An Assertion is an expectation about a run. It is immutable, and made by [Parse] or as a [Range].
type Assertion interface {
	// Check returns an error that says how the run differs from the expectation, or nil. A metric
	// without values never meets an expectation, except for its count, which is 0.
	Check(log record.Log) error
}

// TestingT is the part of *testing.T that Require uses.
type TestingT interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Require ends a test if a run does not meet all assertions, or if an assertion cannot be parsed.
// It reports all faults.
func Require(t TestingT, log record.Log, assertions ...string) {
	t.Helper()
	Metrics(nil).Require(t, log, assertions...)
}

// Metrics are your own metrics, for assertions that name them. They must not be changed while they
// are in use.
type Metrics []measure.Metric

// Require is [Require] for assertions that may also name these metrics.
func (m Metrics) Require(t TestingT, log record.Log, assertions ...string) {
	t.Helper()
	var errs []error
	for _, text := range assertions {
		a, err := Parse(text, m...)
		if err == nil {
			err = a.Check(log)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("%v", err)
	}
}

// A Range expects a statistic of a metric to be between two values, both included. Durations are in
// seconds.
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

// Quantile returns a statistic for a [Range].
func Quantile(share float64) func(measure.Sample) float64 {
	return func(s measure.Sample) float64 { return s.Quantile(share) }
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// A comparison is two or more operands, with an operator between each and the next.
type comparison struct {
	text      string
	operands  []operand
	operators []string // one fewer than operands
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

// valuesAt prints the values on both sides of an operator.
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

// operators are the comparison operators.
var operators = map[string]func(a, b float64) bool{
	"<":  func(a, b float64) bool { return a < b },
	"<=": func(a, b float64) bool { return a <= b },
	">":  func(a, b float64) bool { return a > b },
	">=": func(a, b float64) bool { return a >= b },
	"==": func(a, b float64) bool { return a == b },
	"!=": func(a, b float64) bool { return a != b },
}

// An operand is a number, or a statistic of a metric.
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

// A unit is the unit of a value.
type unit int

const (
	plain    unit = iota // a number
	duration             // seconds
	zero                 // 0, as a number or a duration
)

func (u unit) print(v float64) string {
	if u == duration {
		return number(v) + "s"
	}
	return number(v)
}
