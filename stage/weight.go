package stage

import (
	"errors"
	"math"
	"strconv"

	"github.com/stagecraft-go/stagecraft/internal/expression"
)

// maxWeight keeps the sum of any number of weights within 64 bits.
const maxWeight = 1 << 40

// A weight says how often a Stage is drawn among all that match: a constant, or read from the
// object.
type weight struct {
	constant int64
	from     expression.ValueFrom // its Path is that in the Stage
}

// A WeightEvaluation tells how the weight of a Stage was found.
type WeightEvaluation struct {
	Path  string // the field that counts: spec.weight, or that of the expression
	Text  string // the source of the expression; "" if there is none
	Seen  any    // what the expression gave; nil if nothing
	Value int64  // from 0 to 2^40; counts only if Given
	Given bool   // false if the expression says so: by text that is empty or no integer, or by an error in CEL
	Err   error  // why the expression does not count, if it failed or gave no integer
}

// evaluate returns the weight for an object.
func (w weight) evaluate(s *expression.Scope) WeightEvaluation {
	v, language, err := w.from.Read(s)
	e := WeightEvaluation{Path: "spec.weight", Text: w.from.Text, Seen: v, Value: w.constant, Given: true, Err: err}
	if err == nil && v != nil {
		var n int64
		if n, e.Err = integer(v, language); e.Err == nil {
			e.Path, e.Value = w.from.Path, n
		}
	}
	if e.Err != nil && (language == expression.CELLanguage || errors.Is(e.Err, errNoInteger)) {
		e.Path, e.Value, e.Given = w.from.Path, 0, false
	}
	e.Value = min(max(e.Value, 0), maxWeight)
	return e
}

var (
	errNoInteger = errors.New("no integer")
	errNoNumber  = errors.New("neither a number nor text")
)

// integer reads the result of an expression as a weight. The languages differ in what their types
// mean, as in kwok.
func integer(v any, language expression.Language) (int64, error) {
	switch v := v.(type) {
	case int64:
		return v, nil
	case uint64:
		return int64(min(v, math.MaxInt64)), nil
	case float64:
		return truncate(v)
	case string:
		n, err := strconv.ParseInt(v, 0, 64)
		if err != nil || language != expression.JQLanguage {
			return 0, errNoInteger
		}
		return n, nil
	case bool:
		if language == expression.CELLanguage && v {
			return 1, nil
		} else if language == expression.CELLanguage {
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
