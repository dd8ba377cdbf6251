package delays

import (
	"math"
	"time"

	"github.com/google/cel-go/common/types"

	"github.com/stagecraft-go/stagecraft/internal/expression"
	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// Compile prepares a delay; a nil StageDelay is none. The error joins a [*position.Error] for each
// fault; if all of them are warnings, the Delay comes with it.
func Compile(d *v1alpha1.StageDelay, c *expression.Compiler) (*Delay, error) {
	if d == nil {
		return &Delay{}, nil
	}
	b := builder{compiler: c}
	duration := b.source("duration", d.DurationMilliseconds, d.DurationFrom)
	duration.constant.Given = true // the default is 0
	jitter := b.source("jitterDuration", d.JitterDurationMilliseconds, d.JitterDurationFrom)
	if b.faults.Fatal() {
		return nil, b.faults.Err()
	}
	return &Delay{duration: duration, jitter: jitter}, b.faults.Err()
}

type builder struct {
	compiler *expression.Compiler
	faults   position.Faults
}

// results are the CEL types that mean a duration.
var results = []*types.Type{types.StringType, types.IntType, types.UintType, types.DoubleType, types.DurationType, types.TimestampType}

// source compiles the fields nameMilliseconds and nameFrom.
func (b *builder) source(name string, ms *int64, f *v1alpha1.ExpressionFrom) source {
	program, err := b.compiler.ValueFrom(f, results...)
	b.faults.Add(position.Below(name+"From", err)...)
	program.Path = position.Join(name+"From", program.Path)
	return source{from: program, constant: b.milliseconds(name+"Milliseconds", ms)}
}

const maxMilliseconds = math.MaxInt64 / int64(time.Millisecond)

func (b *builder) milliseconds(path string, ms *int64) Evaluation {
	switch {
	case ms == nil:
		return Evaluation{}
	case *ms < 0:
		b.faults.Addf(path, "must not be negative")
	case *ms > maxMilliseconds:
		b.faults.Addf(path, "must not be more than %d (292 years)", maxMilliseconds)
	}
	return Evaluation{Path: path, Value: time.Duration(*ms) * time.Millisecond, Given: true}
}
