package jq

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/itchyny/gojq"
)

// Defaults of Options.
const (
	DefaultSteps = 100_000
	DefaultSize  = 16 << 20
)

// Options of [Compile]. The zero value of each field means its default.
type Options struct {
	// Steps limits the instructions of gojq in one run; default DefaultSteps. A native program
	// needs no limit: its work depends only on its length and on the size of the object.
	Steps int
	// Size limits the sum of what the operators of one run build and read, in bytes; default
	// DefaultSize.
	Size int
	// Functions are more functions, by name and number of arguments as jq writes them: "double/1".
	// Each takes its input and arguments as gojq has them (nil, bool, int, float64, *big.Int,
	// string, []any, map[string]any), must not change them, and returns a JSON value or an error.
	// It must be pure and safe for concurrent use.
	Functions map[string]func(input any, args []any) any
}

// An Input is one object at one moment. It keeps data that the runs of several programs share. It
// must not be copied after a run.
type Input struct {
	// Object is the input of programs. They never change it; it must not change while the Input is
	// in use.
	Object map[string]any
	// Now is the result of jq `now`.
	Now time.Time

	converted any // Object with the types of gojq; nil until it is needed
	outputs   []any
	room      [2 * spare]any // for the outputs, if they are few
	budget    budget
}

// Reset makes in an Input for another object, keeping allocated memory.
func (in *Input) Reset(obj map[string]any, now time.Time) {
	clear(in.outputs[:cap(in.outputs)])
	in.Object, in.Now, in.converted, in.outputs = obj, now, nil, in.outputs[:0]
}

// Program is a compiled jq program. It is immutable and safe for concurrent use.
type Program struct {
	native  filter // nil: code runs
	code    atomic.Pointer[gojq.Code]
	states  atomic.Int64 // of the regular expressions that code may keep
	source  string
	options Options
	rank    int
}

// Compile compiles a program. The error is a *position.Error at the faulty token: a syntax error,
// an unknown function or variable, or a refused function (see the package comment).
func Compile(source string, o Options) (*Program, error) {
	if o.Steps <= 0 {
		o.Steps = DefaultSteps
	}
	if o.Size <= 0 {
		o.Size = DefaultSize
	}
	query, err := parse(source)
	if err != nil {
		return nil, err
	}
	if f, iterates := compileNative(query); f != nil {
		p := &Program{native: f}
		if iterates {
			p.rank = 1
		}
		return p, nil
	}
	functions, err := o.functions()
	if err != nil {
		return nil, fault(-1, err)
	}
	code, err := compileGuarded(query, functions)
	if err != nil {
		return nil, fault(undefinedAt(source, err, functions), err)
	}
	p := &Program{source: source, options: o, rank: 2}
	p.code.Store(code)
	return p, nil
}

// maxKept is the largest number of states of regular expressions that a program keeps, about 20 MB.
const maxKept = 1 << 17

// forget compiles the program again once it keeps too many regular expressions. gojq keeps every
// expression that a program has used, and an object can contain new ones.
func (p *Program) forget(states int) {
	if states == 0 || p.states.Add(int64(states)) < maxKept {
		return
	}
	p.states.Store(0)
	if again, err := Compile(p.source, p.options); err == nil {
		p.code.Store(again.code.Load())
	}
}

// Rank orders programs by the work of a run: 0 follows fields, 1 goes through lists, 2 is run by
// gojq.
func (p *Program) Rank() int { return p.rank }

// Run returns all outputs in order, including nulls. If the program fails, Run returns only the
// error, without the outputs before it, as in `jq -e`. Values are nil, bool, string, int64,
// float64, json.Number (integers beyond int64), []any and map[string]any. Maps and lists can be
// parts of the object, so treat them as read-only. The slice is valid until the next run on in.
func (p *Program) Run(in *Input) ([]any, error) {
	if cap(in.outputs) == 0 {
		in.outputs = in.room[:0]
	}
	var err error
	if p.native == nil {
		in.outputs, err = p.interpret(in)
	} else {
		in.outputs, err = p.native(in.outputs[:0], in.Object)
	}
	if err != nil {
		return nil, err
	}
	return in.outputs, nil
}

// interpret runs the program with gojq.
func (p *Program) interpret(in *Input) (out []any, err error) {
	out = in.outputs[:0]
	defer recovered(&err)
	if in.converted == nil {
		in.converted = toGojq(in.Object) // gojq never changes its input, so runs can share it
	}
	b := &in.budget
	*b = budget{Context: context.Background(), steps: p.options.Steps, size: p.options.Size, limits: p.options}
	defer func() { p.forget(b.states) }()
	results := p.code.Load().RunWithContext(b, in.converted, b, unixSeconds(in.Now))
	for v, ok := results.Next(); ok; v, ok = results.Next() {
		if b.failure != nil {
			return out, b.failure
		}
		if err, ok := v.(error); ok {
			return out, err
		}
		if err := b.charge(deepSize(v, b.size)); err != nil { // converted values share no memory
			return out, err
		}
		out = append(out, fromGojq(v))
	}
	return out, b.failure
}

// recovered turns a panic of gojq into an error, so that a fault in gojq does not end the caller.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("gojq: %v", r)
	}
}

// unixSeconds returns a time in the form of jq.
func unixSeconds(t time.Time) float64 {
	return float64(t.Unix()) + float64(t.Nanosecond())/1e9
}
