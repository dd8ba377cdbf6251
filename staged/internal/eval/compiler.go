package eval

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"github.com/stagecraft-go/stagecraft/internal/position"
)

// DefaultCost is the default of Options.Cost: as in package expr.
const DefaultCost = 100_000

// Options of a Compiler.
type Options struct {
	// Variables are the names that expressions may use, with their types.
	Variables map[string]*cel.Type
	// Cells adds num(column) and cell(collector, column), which look into the variable obj, a CombinedStatus.
	Cells bool
	// Cost limits an evaluation, in CEL's units. Default DefaultCost.
	Cost uint64
}

// Compiler compiles expressions over the same variables.
type Compiler struct {
	env       *cel.Env
	variables map[string]*cel.Type
	cost      uint64
}

// NewCompiler returns a Compiler. The error is that of a variable that CEL cannot have.
func NewCompiler(o Options) (*Compiler, error) {
	options := []cel.EnvOption{cel.CustomTypeAdapter(values), cel.DefaultUTCTimeZone(true), cel.EnableMacroCallTracking()}
	for name, t := range o.Variables {
		options = append(options, cel.Variable(name, t))
	}
	if o.Cells {
		options = append(options, cellFunctions...)
	}
	if o.Cost == 0 {
		o.Cost = DefaultCost
	}
	env, err := cel.NewEnv(options...)
	return &Compiler{env: env, variables: o.Variables, cost: o.Cost}, err
}

// CompileError is every fault of an expression. It unwraps to one *position.Error for each.
type CompileError struct {
	text   string
	faults []error
}

// Error prints the faults as cel-go does, beneath what failed.
func (e *CompileError) Error() string { return e.text }

// Unwrap returns the faults.
func (e *CompileError) Unwrap() []error { return e.faults }

// Compile compiles an expression. The error is a *CompileError.
func (c *Compiler) Compile(source string) (*Program, error) {
	if strings.TrimSpace(source) == "" {
		return nil, fault("the expression is empty")
	}
	parsed, issues := c.env.Parse(source)
	if issues.Err() != nil {
		return nil, newCompileError("parse", source, issues)
	}
	tree := ast.Copy(parsed.NativeRep())
	mixNumbers(parsed.NativeRep(), c.variables)
	checked, issues := c.env.Check(parsed)
	if issues.Err() != nil {
		return nil, newCompileError("check", source, issues)
	}
	if least := c.leastCost(checked); least > c.cost {
		return nil, fault(fmt.Sprintf("the expression costs at least %d, over the limit of %d", least, c.cost))
	}
	e := checked.NativeRep().Expr()
	program, err := c.env.Program(checked, c.programOptions(e)...)
	if err != nil {
		return nil, fault(err.Error())
	}
	p := &Program{source: source, program: program, output: checked.OutputType(), tree: tree}
	p.variables, p.literals = names(tree)
	if isBounded(e) {
		p.quick = quicken(e, nil)
	}
	return p, nil
}

// Bool compiles an expression whose result must be true or false, as far as its type is known.
func (c *Compiler) Bool(source string) (*Program, error) {
	p, err := c.Compile(source)
	if err != nil {
		return nil, err
	}
	if t := p.output; t.Kind() != types.DynKind && !t.IsExactType(cel.BoolType) {
		return nil, fault(fmt.Sprintf("the result is %s, not bool", t))
	}
	return p, nil
}

func fault(text string) *CompileError {
	return &CompileError{text, []error{&position.Error{Offset: 0, Err: errors.New(text)}}}
}

func newCompileError(action, source string, issues *cel.Issues) *CompileError {
	e := &CompileError{text: fmt.Sprintf("failed to %s expression: %s", action, issues.Err())}
	for _, i := range issues.Errors() {
		message := strings.TrimSuffix(i.Message, " (in container '')")
		e.faults = append(e.faults, &position.Error{Offset: offset(source, i.Location), Err: errors.New(message)})
	}
	return e
}

// offset turns a line (from 1) and a column (in characters, from 0) into bytes from the start; -1 if unknown.
func offset(source string, at common.Location) int {
	if at.Line() < 1 || at.Column() < 0 {
		return -1
	}
	lines := strings.SplitAfterN(source, "\n", at.Line())
	if len(lines) < at.Line() {
		return -1
	}
	rest := lines[at.Line()-1]
	n := len(source) - len(rest)
	for range at.Column() {
		_, size := utf8.DecodeRuneInString(rest)
		rest = rest[size:]
		n += size
	}
	return n
}
