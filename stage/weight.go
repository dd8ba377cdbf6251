package stage

import (
	"math"
	"strconv"

	"github.com/stagecraft-go/stagecraft/internal/expr"
	"github.com/stagecraft-go/stagecraft/internal/from"
)

// maxWeight keeps the sum of any number of weights within 64 bits.
const maxWeight = 1 << 40

// A weight is the share of a Stage among all that match: a constant, or read from the object.
type weight struct {
	constant int64
	from     from.From
}

// read returns the weight for an object, in [0, maxWeight]. It is not given if the expression says so: by text that is empty or not an integer, or
// by an error in CEL.
func (w weight) read(s *expr.Scope) (n int64, given bool) {
	v, language, err := w.from.Read(s)
	n, given = w.constant, true
	switch {
	case err != nil && language == from.CEL:
		given = false
	case err == nil && language != from.None:
		n, given = w.interpret(v, language)
	}
	return min(max(n, 0), maxWeight), given
}

// interpret reads the result of an expression as a weight. The languages differ in what their types mean, as in kwok.
func (w weight) interpret(v any, language from.Language) (n int64, given bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case uint64:
		return int64(min(v, math.MaxInt64)), true
	case float64:
		return truncate(v)
	case string:
		n, err := strconv.ParseInt(v, 0, 64)
		return n, err == nil && language == from.JQ
	case bool:
		if language == from.CEL && v {
			return 1, true
		} else if language == from.CEL {
			return 0, true
		}
	}
	return w.constant, language == from.JQ
}

func truncate(f float64) (int64, bool) {
	return int64(min(max(f, -maxWeight), maxWeight)), !math.IsNaN(f)
}
