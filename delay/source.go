package delay

import (
	"math"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/expr"
	"github.com/stagecraft-go/stagecraft/internal/from"
)

// A source is where a duration comes from: an expression, and a constant where that yields none.
type source struct {
	from     from.From
	constant reading
}

// A reading is a duration, or the word that there is none.
type reading struct {
	d     time.Duration
	given bool
}

func (f source) read(s *expr.Scope) reading {
	v, language, err := f.from.Read(s)
	if err != nil || language == from.None {
		return f.constant
	}
	if _, isString := v.(string); language == from.JQ && !isString { // jq has no durations: a number could mean any unit
		return f.constant
	}
	if r, ok := interpret(v, s.Now); ok {
		return r
	}
	return f.constant
}

// interpret reads the result of an expression as a duration. It is not ok if the value means none.
func interpret(v any, now time.Time) (r reading, ok bool) {
	switch v := v.(type) {
	case string:
		return parse(v, now)
	case time.Duration:
		return reading{v, true}, true
	case time.Time:
		return reading{v.Sub(now), true}, true
	case int64:
		return reading{time.Duration(v), true}, true
	case uint64:
		return reading{time.Duration(min(v, math.MaxInt64)), true}, true
	case float64:
		return nanoseconds(v)
	default:
		return reading{}, false
	}
}

// parse reads text: nothing, a time or a duration.
func parse(text string, now time.Time) (r reading, ok bool) {
	if text == "" {
		return reading{}, true
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return reading{t.Sub(now), true}, true
	}
	d, err := time.ParseDuration(text)
	return reading{d, true}, err == nil
}

func nanoseconds(f float64) (reading, bool) {
	switch {
	case math.IsNaN(f):
		return reading{}, false
	case f >= math.MaxInt64:
		return reading{math.MaxInt64, true}, true
	case f <= math.MinInt64:
		return reading{math.MinInt64, true}, true
	default:
		return reading{time.Duration(f), true}, true
	}
}
