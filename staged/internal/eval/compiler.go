package eval

import (
	"errors"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"github.com/stagecraft-go/stagecraft/internal/cel"
)

// maxSize is how large a value an expression may build, in bytes, about.
const maxSize = 1 << 20

// Options of a Compiler.
type Options struct {
	// Variables are the names that expressions may use, with their types.
	Variables map[string]*types.Type
	// Cells adds num(column) and cell(collector, column), which look into the variable obj, a
	// CombinedStatus.
	Cells bool
	// Cost limits an evaluation, in steps of about 100 ns. Default [cel.DefaultCost].
	Cost uint64
}

// Compiler compiles expressions over the same variables.
type Compiler struct{ cel *cel.Compiler }

// NewCompiler returns a Compiler. The error is that of a variable that CEL cannot have.
func NewCompiler(o Options) (*Compiler, error) {
	options := cel.Options{
		Variables: o.Variables, Cost: o.Cost, Size: maxSize,
		Rewrite: func(tree *ast.AST) {
			mixNumbers(tree, o.Variables)
			refuseNaN(tree)
		},
		Library: orderedFunction,
	}
	if o.Cells {
		options.Library, options.Costs = slices.Concat(cellFunctions, orderedFunction), costs
	}
	c, err := cel.NewCompiler(options)
	return &Compiler{c}, err
}

// Compile compiles an expression, as [cel.Compiler.Compile] does, and refuses one that costs too
// much whatever the object is: it reads none.
func (c *Compiler) Compile(source string, want ...*types.Type) (*Program, error) {
	compiled, err := c.cel.Compile(source, want...)
	if err != nil {
		return nil, err
	}
	p := &Program{compiled}
	if len(p.Variables()) == 0 {
		if _, err := p.Eval(nil); errors.Is(err, cel.ErrCost) {
			return nil, cel.Fault("the expression is always over the limit: %w", err)
		}
	}
	return p, nil
}

// Bool compiles an expression whose result must be true or false, as far as its type is known.
func (c *Compiler) Bool(source string) (*Program, error) {
	return c.Compile(source, types.BoolType)
}
