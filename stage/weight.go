package stage

import (
	"errors"
	"math"
	"strconv"

	"github.com/stagecraft-go/stagecraft/internal/expr"
	"github.com/stagecraft-go/stagecraft/internal/valuefrom"
)

// maxWeight keeps the sum of any number of weights within 64 bits.
const maxWeight = 1 << 40

// A weight is the share of a Stage among all that match: a constant, or read from the object.
type weight struct {
	constant int64
	from     valuefrom.From // its Path is that in the Stage
}

// A WeightReading tells how the weight of a Stage was found.
type WeightReading struct {
	Path  string // the field that counts: spec.weight, or that of the expression
	Text  string // the source of the expression; "" if there is none
	Seen  any    // what the expression gave; nil if nothing
	Value int64  // from 0 to 2^40; counts only if Given
	Given bool   // false if the expression says so: by text that is empty or no integer, or by an error in CEL
	Err   error  // why the expression does not count, if it failed or gave no integer
}

// read returns the weight for an object.
func (w weight) read(s *expr.Scope) WeightReading {
	v, language, err := w.from.Read(s)
	r := WeightReading{Path: "spec.weight", Text: w.from.Text, Seen: v, Value: w.constant, Given: true, Err: err}
	if err == nil && v != nil {
		var n int64
		if n, r.Err = integer(v, language); r.Err == nil {
			r.Path, r.Value = w.from.Path, n
		}
	}
	if r.Err != nil && (language == valuefrom.CEL || errors.Is(r.Err, errNoInteger)) {
		r.Path, r.Value, r.Given = w.from.Path, 0, false
	}
	r.Value = min(max(r.Value, 0), maxWeight)
	return r
}

var (
	errNoInteger = errors.New("no integer")
	errNoNumber  = errors.New("neither a number nor text")
)

// integer reads the result of an expression as a weight. The languages differ in what their types mean, as in kwok.
func integer(v any, language valuefrom.Language) (int64, error) {
	switch v := v.(type) {
	case int64:
		return v, nil
	case uint64:
		return int64(min(v, math.MaxInt64)), nil
	case float64:
		return truncate(v)
	case string:
		n, err := strconv.ParseInt(v, 0, 64)
		if err != nil || language != valuefrom.JQ {
			return 0, errNoInteger
		}
		return n, nil
	case bool:
		if language == valuefrom.CEL && v {
			return 1, nil
		} else if language == valuefrom.CEL {
			return 0, nil
		}
	}
	return 0, errNoNumber
}

func truncate(f float64) (int64, error) {
	if math.IsNaN(f) {
		return 0, errNoInteger
	}
	return int64(min(max(f, -maxWeight), maxWeight)), nil
}
