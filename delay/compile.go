package delay

import (
	"math"
	"time"

	"github.com/stagecraft-go/stagecraft/internal/expr"
	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/internal/valuefrom"
	"github.com/stagecraft-go/stagecraft/stage/v1alpha1"
)

// Compile prepares a delay, or returns every fault of it: the error joins an [*Error] for each. When all of them are
// harmless the Delay comes with the error, and a lenient caller may use it. A nil StageDelay is no delay. The compiler
// may be nil; the other packages of this module share one.
func Compile(d *v1alpha1.StageDelay, c *expr.Compiler) (*Delay, error) {
	if d == nil {
		return &Delay{none: true}, nil
	}
	if c == nil {
		c = expr.NewCompiler(expr.Options{})
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
	compiler *expr.Compiler
	faults   position.Faults
}

// results are the CEL types that mean a duration.
const results = expr.String | expr.Duration | expr.Timestamp | expr.Int | expr.Uint | expr.Double

// source compiles the fields nameMilliseconds and nameFrom.
func (b *builder) source(name string, ms *int64, f *v1alpha1.ExpressionFrom) source {
	program, err := valuefrom.Compile(b.compiler, f, results)
	b.faults.Add(position.Below(name+"From", err)...)
	program.Path = position.Join(name+"From", program.Path)
	return source{from: program, constant: b.milliseconds(name+"Milliseconds", ms)}
}

const maxMilliseconds = math.MaxInt64 / int64(time.Millisecond)

func (b *builder) milliseconds(path string, ms *int64) Reading {
	switch {
	case ms == nil:
		return Reading{}
	case *ms < 0:
		b.faults.Addf(path, "must not be negative")
	case *ms > maxMilliseconds:
		b.faults.Addf(path, "must not be more than %d (292 years)", maxMilliseconds)
	}
	return Reading{Path: path, Value: time.Duration(*ms) * time.Millisecond, Given: true}
}
