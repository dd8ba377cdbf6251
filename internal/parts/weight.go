package parts

import (
	"errors"
	"math"
	"strconv"

	"github.com/google/cel-go/common/types"

	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// MaxWeight keeps the sum of any number of weights within 64 bits.
const MaxWeight = 1 << 40

// WeightPath is the field of the constant, relative to the spec.
const WeightPath = "weight"

const fromPath = "weightFrom"

// A Weight is a constant, or read from the object. The zero Weight is 0.
type Weight struct {
	constant int64
	from     expression.ValueFrom // its Path is relative to the spec
}

// A WeightDescription is the weight in the text of a Stage, whether it compiles or not.
type WeightDescription struct {
	Constant int64             // 0 by default
	Source   expression.Source // relative to the spec; its Text is "" without one
}

// Given reports whether the Stage gives a weight.
func (d WeightDescription) Given() bool { return d.Constant > 0 || d.Source.Path != "" }

// Fixed reports whether the weight is above 0 on every object.
func (d WeightDescription) Fixed() bool { return d.Constant > 0 && d.Source.Path == "" }

// DescribeWeight reads the weight of a Stage.
func DescribeWeight(s *v1alpha1.StageSpec) WeightDescription {
	d := WeightDescription{Constant: int64(s.Weight)}
	if source, ok := expression.SourceOf(s.WeightFrom); ok {
		d.Source = source.Below(fromPath)
	}
	return d
}

// CompileWeight prepares the weight of a Stage. The error joins a [*position.Error] for each fault.
func CompileWeight(s *v1alpha1.StageSpec, c *expression.Compiler) (Weight, error) {
	var faults position.Faults
	if s.Weight < 0 {
		faults.Addf(WeightPath, "must not be negative")
	}
	program, err := c.ValueFrom(s.WeightFrom, types.BoolType, types.IntType, types.UintType, types.DoubleType)
	faults.Add(position.Below(fromPath, err)...)
	program.Path = position.Join(fromPath, program.Path)
	return Weight{constant: int64(s.Weight), from: program}, faults.Err()
}

// A WeightEvaluation tells where a weight comes from; stage.WeightEvaluation is its exported copy.
type WeightEvaluation struct {
	Path  string
	Text  string
	Seen  any
	Value int64
	Given bool
	Err   error
}

// Evaluate returns the weight for an object.
func (w Weight) Evaluate(s *expression.Scope) WeightEvaluation {
	v, language, err := w.from.Read(s)
	e := WeightEvaluation{Path: WeightPath, Text: w.from.Text, Seen: v, Value: w.constant, Given: true, Err: err}
	if err == nil && v != nil {
		var n int64
		if n, e.Err = integer(v, language); e.Err == nil {
			e.Path, e.Value = w.from.Path, n
		}
	}
	if e.Err != nil && (language == expression.CELLanguage || errors.Is(e.Err, errNoInteger)) {
		e.Path, e.Value, e.Given = w.from.Path, 0, false
	}
	e.Value = min(max(e.Value, 0), MaxWeight)
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
	return int64(min(max(f, -MaxWeight), MaxWeight)), nil
}
