package parts

import (
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/expression"
)

// A source is the origin of a duration: an expression, and a constant for an expression without a
// result.
type source struct {
	from     expression.ValueFrom // its Path is relative to the delay
	constant DelayEvaluation
}

// A DelayEvaluation tells where one part of a delay comes from; delay.Evaluation is its exported
// copy.
type DelayEvaluation struct {
	Name    string
	Meaning string
	Path    string
	Text    string
	Seen    any
	Value   time.Duration
	Given   bool
	Err     error
}

func (f source) evaluate(s *expression.Scope) DelayEvaluation {
	v, language, err := f.from.Read(s)
	if language == expression.NoLanguage {
		return f.constant
	}
	if err == nil && v != nil {
		var e DelayEvaluation
		if e, err = interpret(v, language, s.Now); err == nil {
			e.Name, e.Meaning = f.constant.Name, f.constant.Meaning
			e.Path, e.Text, e.Seen = f.from.Path, f.from.Text, v
			return e
		}
	}
	e := f.constant
	e.Text, e.Seen, e.Err = f.from.Text, v, err
	return e
}

var (
	errNoUnit = errors.New(`a number from jq has no unit; want text such as "5s"`)
	errNoTime = errors.New(`neither a duration such as "5s" nor a time`)
)

// interpret reads the result of an expression as a duration. Jq has no durations: a number of jq
// could have any unit.
func interpret(v any, language expression.Language, now time.Time) (DelayEvaluation, error) {
	switch v := v.(type) {
	case string:
		return parse(v, now)
	case time.Duration:
		return of(v), nil
	case time.Time:
		return of(v.Sub(now)), nil
	case int64, uint64, float64, json.Number:
		if language == expression.JQLanguage {
			return DelayEvaluation{}, errNoUnit
		}
		return nanoseconds(v)
	}
	return DelayEvaluation{}, errNoTime
}

func of(d time.Duration) DelayEvaluation { return DelayEvaluation{Value: d, Given: true} }

// parse reads text: nothing, a time or a duration.
func parse(text string, now time.Time) (DelayEvaluation, error) {
	if text == "" {
		return DelayEvaluation{}, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return of(t.Sub(now)), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return DelayEvaluation{}, errNoTime
	}
	return of(d), nil
}

// nanoseconds reads a number of CEL, as in kwok.
func nanoseconds(n any) (DelayEvaluation, error) {
	switch n := n.(type) {
	case int64:
		return of(time.Duration(n)), nil
	case uint64:
		return of(time.Duration(min(n, math.MaxInt64))), nil
	case float64:
		switch {
		case n >= math.MaxInt64:
			return of(math.MaxInt64), nil
		case n <= math.MinInt64:
			return of(math.MinInt64), nil
		case n == n: // no NaN
			return of(time.Duration(n)), nil
		}
	}
	return DelayEvaluation{}, errNoTime
}
