package delay

import (
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/expr"
	"github.com/stagecraft-go/stagecraft/internal/valuefrom"
)

// A source is where a duration comes from: an expression, and a constant where that yields none.
type source struct {
	from     valuefrom.From // its Path is relative to the delay
	constant Reading
}

// A Reading tells how the duration or the jitter of a delay was found.
type Reading struct {
	// Path is the field that counts, relative to the delay: that of the expression, or of the milliseconds; "" if the delay has neither or,
	// where the expression yields none, not the second.
	Path string
	// Text is the source of the expression; "" if there is none.
	Text string
	// Seen is what the expression gave, as JSON values or Go's own types for durations and times; nil if nothing.
	Seen any
	// Value counts if Given. It may be negative.
	Value time.Duration
	Given bool
	// Err says why the expression does not count: it failed, or gave what is no duration.
	Err error
}

func (f source) read(s *expr.Scope) Reading {
	v, language, err := f.from.Read(s)
	if language == valuefrom.None {
		return f.constant
	}
	if err == nil && v != nil {
		var r Reading
		if r, err = interpret(v, language, s.Now); err == nil {
			r.Path, r.Text, r.Seen = f.from.Path, f.from.Text, v
			return r
		}
	}
	r := f.constant
	r.Text, r.Seen, r.Err = f.from.Text, v, err
	return r
}

var (
	errNoUnit = errors.New(`a number from jq has no unit; want text such as "5s"`)
	errNoTime = errors.New(`neither a duration such as "5s" nor a time`)
)

// interpret reads the result of an expression as a duration. Jq has no durations: a number from it could mean any unit.
func interpret(v any, language valuefrom.Language, now time.Time) (Reading, error) {
	text, isText := v.(string)
	switch {
	case isText:
		return parse(text, now)
	case language == valuefrom.CEL:
		return typed(v, now)
	case isNumber(v):
		return Reading{}, errNoUnit
	default:
		return Reading{}, errNoTime
	}
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, float64, json.Number:
		return true
	}
	return false
}

// typed reads a result of CEL. A number of it is nanoseconds, as in kwok.
func typed(v any, now time.Time) (Reading, error) {
	switch v := v.(type) {
	case time.Duration:
		return of(v), nil
	case time.Time:
		return of(v.Sub(now)), nil
	case int64:
		return of(time.Duration(v)), nil
	case uint64:
		return of(time.Duration(min(v, math.MaxInt64))), nil
	case float64:
		return nanoseconds(v)
	}
	return Reading{}, errNoTime
}

func of(d time.Duration) Reading { return Reading{Value: d, Given: true} }

// parse reads text: nothing, a time or a duration.
func parse(text string, now time.Time) (Reading, error) {
	if text == "" {
		return Reading{}, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return of(t.Sub(now)), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return Reading{}, errNoTime
	}
	return of(d), nil
}

func nanoseconds(f float64) (Reading, error) {
	switch {
	case math.IsNaN(f):
		return Reading{}, errNoTime
	case f >= math.MaxInt64:
		return of(math.MaxInt64), nil
	case f <= math.MinInt64:
		return of(math.MinInt64), nil
	default:
		return of(time.Duration(f)), nil
	}
}
