package eval

import (
	"fmt"

	googlecel "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"github.com/stagecraft-go/stagecraft/internal/cel"
)

// DefaultCost is the default of Options.Cost.
const DefaultCost = cel.DefaultCost

// maxSize is how large a value an expression may build, in bytes, about.
const maxSize = 1 << 20

// Options of a Compiler.
type Options struct {
	// Variables are the names that expressions may use, with their types.
	Variables map[string]*googlecel.Type
	// Cells adds num(column) and cell(collector, column), which look into the variable obj, a
	// CombinedStatus.
	Cells bool
	// Cost limits an evaluation, in CEL's units. Default DefaultCost.
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
		options.Library, options.Native = cellFunctions, nativeCellFunctions
	}
	c, err := cel.NewCompiler(options)
	return &Compiler{c}, err
}

// Compile compiles an expression. The error is a *cel.CompileError.
func (c *Compiler) Compile(source string) (*Program, error) {
	p, err := c.cel.Compile(source)
	if err != nil {
		return nil, err
	}
	return &Program{p, literals(p.Written())}, nil
}

// Bool compiles an expression whose result must be true or false, as far as its type is known.
func (c *Compiler) Bool(source string) (*Program, error) {
	p, err := c.Compile(source)
	if err != nil {
		return nil, err
	}
	if t := p.Type(); t.Kind() != types.DynKind && !t.IsExactType(googlecel.BoolType) {
		return nil, cel.Fault(fmt.Sprintf("the result is %s, not bool", t))
	}
	return p, nil
}
