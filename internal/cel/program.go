package cel

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Program is a compiled expression.
type Program struct {
	program cel.Program
	native  native // nil: cel-go evaluates the expression
	cost    int    // with which the native evaluation begins
	limit   int    // of its cost

	source    string
	written   *ast.AST
	output    *types.Type
	variables []string
}

// Source is the text of the expression, Written its syntax tree as it was parsed.
func (p *Program) Source() string    { return p.source }
func (p *Program) Written() *ast.AST { return p.written }

// Type is that of the result as far as it is known without values.
func (p *Program) Type() *types.Type { return p.output }

// Place is where a part of the syntax tree stands in the source, in bytes; -1 if unknown.
func (p *Program) Place(e ast.Expr) int {
	return offset(p.source, p.written.SourceInfo().GetStartLocation(e.ID()))
}

// Variables are the names of the variables that the expression reads, sorted; not to be changed.
func (p *Program) Variables() []string { return p.variables }

func variablesOf(tree *ast.AST) []string {
	free := map[string]bool{}
	addVariables(free, ast.NavigateAST(tree), nil)
	return slices.Sorted(maps.Keys(free))
}

// addVariables adds the names in an expression that no macro around binds.
func addVariables(free map[string]bool, e ast.NavigableExpr, bound []string) {
	if e.Kind() == ast.IdentKind && !slices.Contains(bound, e.AsIdent()) {
		free[e.AsIdent()] = true
	}
	for i, child := range e.Children() {
		inner := bound
		if e.Kind() == ast.ComprehensionKind && i >= 2 { // the first two are the range and what it begins with
			c := e.AsComprehension()
			inner = append(slices.Clone(bound), c.AccuVar(), c.IterVar(), c.IterVar2())
		}
		addVariables(free, child, inner)
	}
}

// Rank orders programs by what an evaluation takes: 0 follows fields, 1 goes through lists, 2 is
// evaluated by cel-go.
func (p *Program) Rank() int {
	switch {
	case p.native == nil:
		return 2
	case hasMacros(p.written):
		return 1
	}
	return 0
}

// Eval evaluates the expression. Whatever keeps it from having a value is an error: a missing key,
// types that do not fit, the limits. It never panics: cel.Program turns panics into errors.
func (p *Program) Eval(variables cel.Activation) (ref.Val, error) {
	out, _, err := p.program.Eval(variables)
	return out, err
}

// Bool evaluates an expression that must be true or false; any other result is an error too.
func (p *Program) Bool(variables cel.Activation, f *Frame) (bool, error) {
	if v, err := p.Native(variables, f); err != ErrUnsure {
		if b, ok := v.(bool); ok || err != nil {
			return b, err
		}
	}
	out, err := p.Eval(variables)
	if err != nil {
		return false, err
	}
	b, ok := out.(types.Bool)
	if !ok {
		return false, fmt.Errorf("the result is %s, not bool", out.Type().TypeName())
	}
	return bool(b), nil
}

// Native evaluates the expression on plain Go values: the result is nil, a bool, string, int64,
// float64, map[string]any or []any. The error is ErrUnsure if cel-go has to evaluate it.
func (p *Program) Native(variables cel.Activation, f *Frame) (any, error) {
	if p.native == nil || p.cost > p.limit {
		return nil, ErrUnsure
	}
	f.variables, f.spent, f.limit = variables, p.cost, p.limit
	return p.native(f)
}
