package expect

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stagecraft-go/stagecraft/stage/lab/measure"
)

// A ParseError is a syntax error in an assertion.
type ParseError struct {
	Text   string // of the assertion
	Column int    // in bytes, from 1
	Err    error
}

// Error prints `"p99(wait) < 2s":5: what is wrong`.
func (e *ParseError) Error() string { return fmt.Sprintf("%q:%d: %v", e.Text, e.Column, e.Err) }

// Unwrap returns Err.
func (e *ParseError) Unwrap() error { return e.Err }

// Parse reads an assertion: two or more values with <, <=, >, >=, == or != between them, such as
//
//	p99(scheduling latency) < 2s
//	1 <= mean(pending pods) <= 12.5
//	max(utilization of cpu) < 80%
//
// A value is a number, a percentage, a duration such as 1m30s, or a statistic of a metric: count,
// mean, stddev, min, max, median, or a quantile such as p99 or p99.9. The metrics are those of
// package measure and the given ones, and may end in a window: mean(pending pods from 10m to 1h). A statistic of spans is compared with durations; a statistic
// of a series, and every count, with numbers. The error is a [*ParseError].
func Parse(text string, own ...measure.Metric) (Assertion, error) {
	p := parser{text: text, own: own}
	c, err := p.comparison()
	if err != nil {
		return nil, &ParseError{Text: text, Column: p.fault + 1, Err: err}
	}
	return c, nil
}

// A parser reads the text of an assertion.
type parser struct {
	text  string
	at    int // the next byte
	fault int // the offset of the error, if there is one
	own   []measure.Metric
}

func (p *parser) fail(at int, format string, args ...any) error {
	p.fault = at
	return fmt.Errorf(format, args...)
}

func (p *parser) comparison() (c comparison, err error) {
	c.text = p.text
	for {
		t, err := p.operand()
		if err != nil {
			return c, err
		}
		c.operands = append(c.operands, t)
		if p.skip(" "); p.at == len(p.text) {
			break
		}
		sign := p.take("<>=!")
		if operators[sign] == nil {
			return c, p.fail(p.at-len(sign), "want <, <=, >, >=, == or !=")
		}
		c.operators = append(c.operators, sign)
	}
	if len(c.operands) < 2 {
		return c, p.fail(p.at, "want a comparison, as in %s < 1", c.operands[0].text)
	}
	return c, p.units(c.operands)
}

// units returns an error if numbers are compared with durations.
func (p *parser) units(terms []operand) error {
	before := zero
	for _, t := range terms {
		switch {
		case t.unit == zero:
		case before == zero:
			before = t.unit
		case before != t.unit && t.unit == plain:
			return p.fail(t.column-1, "want a duration such as 2s, %s is a number", t.text)
		case before != t.unit:
			return p.fail(t.column-1, "want a number, %s is a duration", t.text)
		}
	}
	return nil
}

func (p *parser) skip(set string) {
	for p.at < len(p.text) && strings.IndexByte(set, p.text[p.at]) >= 0 {
		p.at++
	}
}

// take returns the following characters that are in set.
func (p *parser) take(set string) string {
	begin := p.at
	p.skip(set)
	return p.text[begin:p.at]
}

func (p *parser) operand() (operand, error) {
	p.skip(" ")
	begin := p.at
	for p.at < len(p.text) && strings.IndexByte(" <>=!()", p.text[p.at]) < 0 {
		p.at++
	}
	word := p.text[begin:p.at]
	t := operand{text: word, column: begin + 1}
	if word == "" {
		return t, p.fail(begin, "want a value, such as 2s or p99(scheduling latency)")
	}
	if p.at < len(p.text) && p.text[p.at] == '(' {
		return p.call(t, word)
	}
	var err error
	if t.number, t.unit, err = literal(word); err != nil {
		return t, p.fail(begin, "%w", err)
	}
	return t, nil
}

func literal(word string) (float64, unit, error) {
	digits, percent := strings.CutSuffix(word, "%")
	if v, err := strconv.ParseFloat(digits, 64); err == nil && v == v {
		switch {
		case percent:
			return v / 100, plain, nil
		case v == 0:
			return 0, zero, nil
		}
		return v, plain, nil
	}
	if d, err := time.ParseDuration(word); err == nil {
		return d.Seconds(), duration, nil
	}
	return 0, plain, fmt.Errorf("%q is no number, percentage or duration", word)
}

// call reads a statistic of a metric.
func (p *parser) call(t operand, name string) (operand, error) {
	var ok bool
	if t.statistic, ok = statistic(name); !ok {
		const there = "count, mean, stddev, min, max, median, and quantiles such as p99"
		return t, p.fail(p.at-len(name), "no statistic %q%s; there are %s", name, suggestion(name, statisticNames()), there)
	}
	open := p.at
	length := strings.IndexByte(p.text[open:], ')')
	if length < 0 {
		return t, p.fail(open, "the bracket is not closed")
	}
	p.at += length + 1
	words := strings.Join(strings.Fields(p.text[open+1:p.at-1]), " ")
	m, ok := measure.Named(words, p.own...)
	if !ok {
		return t, p.fail(open+1, "no metric %q%s", words, suggestion(words, p.metrics()))
	}
	t.text, t.metric = p.text[t.column-1:p.at], &m
	if m.Series == nil && name != "count" {
		t.unit = duration
	}
	return t, nil
}

func suggestion(name string, names []string) string {
	if n := nearest(name, names); n != "" {
		return fmt.Sprintf(" (is %q meant?)", n)
	}
	return ""
}

func (p *parser) metrics() []string {
	var names []string
	for _, m := range append(p.own[:len(p.own):len(p.own)], measure.Standard()...) {
		names = append(names, m.Name)
	}
	return names
}

// statistics are the statistics that have a name.
var statistics = []struct {
	name string
	of   func(measure.Sample) float64
}{
	{"count", measure.Sample.Count},
	{"mean", measure.Sample.Mean},
	{"stddev", measure.Sample.StdDev},
	{"min", measure.Sample.Min},
	{"max", measure.Sample.Max},
	{"median", Quantile(0.5)},
}

func statisticNames() (names []string) {
	for _, s := range statistics {
		names = append(names, s.name)
	}
	return names
}

func statistic(name string) (func(measure.Sample) float64, bool) {
	for _, s := range statistics {
		if s.name == name {
			return s.of, true
		}
	}
	digits, ok := strings.CutPrefix(name, "p")
	percent, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || !(percent >= 0 && percent <= 100) {
		return nil, false
	}
	return Quantile(percent / 100), true
}
