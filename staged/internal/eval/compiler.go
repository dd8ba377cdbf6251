package eval

import (
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
	// Cost limits an evaluation, in CEL's units. Default [cel.DefaultCost].
	Cost uint64
}

// Compiler compiles expressions over the same variables.
type Compiler struct{ cel *cel.Compiler }

// NewCompiler returns a Compiler. The error is that of a variable that CEL cannot have.
func NewCompiler(o Options) (*Compiler, error) {
	options := cel.Options{
		Variables: o.Variables, Cost: o.Cost, LinearMacros: true, Size: maxSize,
		Rewrite: func(tree *ast.AST) { mixNumbers(tree, o.Variables) },
	}
	if o.Cells {
		options.Library = cellFunctions
	}
	c, err := cel.NewCompiler(options)
	return &Compiler{c}, err
}

// Compile compiles an expression, as [cel.Compiler.Compile] does.
func (c *Compiler) Compile(source string, want ...*types.Type) (*Program, error) {
	p, err := c.cel.Compile(source, want...)
	if err != nil {
		return nil, err
	}
	return &Program{p}, nil
}

// Bool compiles an expression whose result must be true or false, as far as its type is known.
func (c *Compiler) Bool(source string) (*Program, error) {
	return c.Compile(source, types.BoolType)
}
