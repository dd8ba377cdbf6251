package expr

import (
	"sync"

	"github.com/google/cel-go/cel"

	"github.com/stagecraft-go/stagecraft/internal/position"
)

// Defaults of Options.
const (
	DefaultSteps = 100_000
	DefaultSize  = 16 << 20
	DefaultCost  = 100_000
)

// Options are the limits of evaluations and the names CEL knows. The zero value of each field means its default.
type Options struct {
	// Steps limits the instructions of gojq in one evaluation; default DefaultSteps. Native jq needs no limit: its work
	// grows with the length of the program and the size of the object only.
	Steps int
	// Size limits, in bytes, what the operators of one jq evaluation build and walk, all added up, and the largest
	// string, list or map that one operator of a CEL expression builds; default DefaultSize.
	Size int
	// Cost limits an evaluation of CEL, in CEL's own units; default DefaultCost.
	Cost uint64
	// Variables are the names that CEL expressions may use, each of any type; default "self".
	Variables []string
}

func (o Options) withDefaults() Options {
	if o.Steps <= 0 {
		o.Steps = DefaultSteps
	}
	if o.Size <= 0 {
		o.Size = DefaultSize
	}
	if o.Cost == 0 {
		o.Cost = DefaultCost
	}
	if len(o.Variables) == 0 {
		o.Variables = []string{"self"}
	}
	return o
}

// Compiler compiles expressions. It is immutable and safe for concurrent use.
type Compiler struct {
	options Options
	// environment builds the CEL environment at the first use: it takes longer than all jq programs of a Stage set.
	environment func() (*cel.Env, error)
}

// NewCompiler returns a Compiler with these options.
func NewCompiler(o Options) *Compiler {
	o = o.withDefaults()
	o.Variables = append([]string(nil), o.Variables...)
	return &Compiler{
		options:     o,
		environment: sync.OnceValues(func() (*cel.Env, error) { return newEnvironment(o) }),
	}
}

// fault places what is wrong at a byte offset of the source text, -1 if the place is unknown.
func fault(offset int, err error) error {
	return &position.Error{Offset: offset, Err: err}
}
