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
	source  string
	written *ast.AST
	options Options
}

// Source is the text of the expression, Written its syntax tree as it was parsed.
func (p *Program) Source() string    { return p.source }
func (p *Program) Written() *ast.AST { return p.written }

// Place is the offset of a part of the syntax tree in the source, in bytes; -1 if unknown.
func (p *Program) Place(e ast.Expr) int {
	return offset(p.source, p.written.SourceInfo().GetStartLocation(e.ID()))
}

// Variables are the names of the variables that the expression reads, sorted.
func (p *Program) Variables() []string {
	free := map[string]bool{}
	addVariables(free, ast.NavigateAST(p.written), nil)
	return slices.Sorted(maps.Keys(free))
}

// addVariables adds the names in an expression that no macro around binds.
func addVariables(free map[string]bool, e ast.NavigableExpr, bound []string) {
	if e.Kind() == ast.IdentKind && !slices.Contains(bound, e.AsIdent()) {
		free[e.AsIdent()] = true
	}
	for i, child := range e.Children() {
		inner := bound
		if e.Kind() == ast.ComprehensionKind && i >= 2 { // the first two are the range and the initial value
			c := e.AsComprehension()
			inner = append(slices.Clone(bound), c.AccuVar(), c.IterVar(), c.IterVar2())
		}
		addVariables(free, child, inner)
	}
}

// Eval evaluates the expression. A missing key, a wrong type or an exceeded limit is an error. For
// the limit of Options.Cost, errors.Is finds ErrCost. Eval never panics: cel.Program turns panics
// into errors. Going through the result also takes no more steps than Options.Cost.
func (p *Program) Eval(variables cel.Activation) (ref.Val, error) {
	out, _, err := p.Measured(variables)
	return out, err
}

// Measured is like Eval, and also returns the number of steps.
func (p *Program) Measured(variables cel.Activation) (out ref.Val, steps int, err error) {
	b := &budget{Activation: variables, left: p.options.limit(), size: p.options.Size}
	out, _, err = p.program.Eval(b)
	steps = p.options.limit() - max(0, b.left)
	switch {
	case b.left < 0:
		return nil, steps, p.tooCostly(b.over)
	case err == nil && work(out, b.left) > b.left:
		return nil, steps, p.tooCostly(p.written.Expr().ID())
	}
	return out, steps, err
}

// tooCostly says which part of the expression was too costly.
func (p *Program) tooCostly(part int64) error {
	at := p.written.SourceInfo().GetStartLocation(part)
	return fmt.Errorf("%d:%d: %w: it takes more than %d steps", at.Line(), at.Column()+1, ErrCost, p.options.limit())
}

// Bool evaluates an expression that must be true or false. Any other result is also an error.
func (p *Program) Bool(variables cel.Activation) (bool, error) {
	b, _, err := p.MeasuredBool(variables)
	return b, err
}

// MeasuredBool is like Bool, and also returns the number of steps.
func (p *Program) MeasuredBool(variables cel.Activation) (holds bool, steps int, err error) {
	out, steps, err := p.Measured(variables)
	if err != nil {
		return false, steps, err
	}
	b, ok := out.(types.Bool)
	if !ok {
		return false, steps, fmt.Errorf("the result is %s, not bool", out.Type().TypeName())
	}
	return bool(b), steps, nil
}
