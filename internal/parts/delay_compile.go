package parts

import (
	"math"
	"time"

	"github.com/google/cel-go/common/types"

	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// A field is one part of a delay as a Stage has it: a number of milliseconds, and an expression that
// wins over it.
type field struct {
	name, meaning string
	path          string // of both fields, without Milliseconds and From
	joins         string // the word before the expression, if it is an alternative to the constants
	ms            *int64
	from          *v1alpha1.ExpressionFrom
}

// The parts of a delay.
const (
	duration = iota
	jitter
	delayParts // the number of parts
)

// DurationName and JitterName are the names of these parts in a DelayEvaluation.
const (
	DurationName = "duration"
	JitterName   = "jitter"
)

// fields are the parts of a delay, in the order in which they are evaluated. No other code reads the
// fields of a StageDelay.
func fields(d *v1alpha1.StageDelay) [delayParts]field {
	return [delayParts]field{
		duration: {name: DurationName, path: "duration", joins: "or", ms: d.DurationMilliseconds, from: d.DurationFrom},
		jitter:   {name: JitterName, meaning: "the upper bound", path: "jitterDuration", joins: "to", ms: d.JitterDurationMilliseconds, from: d.JitterDurationFrom},
	}
}

// CompileDelay prepares a delay; a nil StageDelay means no delay. The error joins a
// [*position.Error] for each fault; if all of them are warnings, the Delay comes with it.
func CompileDelay(d *v1alpha1.StageDelay, c *expression.Compiler) (*Delay, error) {
	if d == nil {
		return &Delay{}, nil
	}
	b := delayBuilder{compiler: c}
	compiled := &Delay{given: true}
	for i, f := range fields(d) {
		compiled.sources[i] = b.source(f)
	}
	compiled.sources[duration].constant.Given = true // the default is 0
	if b.faults.Fatal() {
		return nil, b.faults.Err()
	}
	return compiled, b.faults.Err()
}

type delayBuilder struct {
	compiler *expression.Compiler
	faults   position.Faults
}

// results are the CEL types that mean a duration.
var results = []*types.Type{types.StringType, types.IntType, types.UintType, types.DoubleType, types.DurationType, types.TimestampType}

func (b *delayBuilder) source(f field) source {
	program, err := b.compiler.ValueFrom(f.from, results...)
	b.faults.Add(position.Below(f.path+"From", err)...)
	program.Path = position.Join(f.path+"From", program.Path)
	b.milliseconds(f)
	return source{from: program, constant: f.constant()}
}

const maxMilliseconds = math.MaxInt64 / int64(time.Millisecond)

func (b *delayBuilder) milliseconds(f field) {
	switch path := f.path + "Milliseconds"; {
	case f.ms == nil:
	case *f.ms < 0:
		b.faults.Addf(path, "must not be negative")
	case *f.ms > maxMilliseconds:
		b.faults.Addf(path, "must not be more than %d (292 years)", maxMilliseconds)
	}
}

// constant is the value of the milliseconds.
func (f field) constant() DelayEvaluation {
	e := DelayEvaluation{Name: f.name, Meaning: f.meaning}
	if f.ms != nil {
		e.Path, e.Value, e.Given = f.path+"Milliseconds", time.Duration(*f.ms)*time.Millisecond, true
	}
	return e
}
