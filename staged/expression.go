package staged

import (
	"strings"

	"github.com/google/cel-go/cel"

	"github.com/stagecraft-go/stagecraft/internal/position"
	"github.com/stagecraft-go/stagecraft/staged/internal/eval"
)

// An Expression is a filter or a condition by itself, for tests and tools. It is immutable and safe
// for concurrent use.
type Expression struct{ program *eval.Program }

// The variables of filters and of conditions. Objects are dynamic maps, so that reading an absent
// key is an error, and never false.
var (
	filterVariables    = map[string]*cel.Type{"downsyncClause": cel.DynType}
	conditionVariables = map[string]*cel.Type{
		"obj": cel.DynType, "combinedStatus": cel.DynType,
		"destinations": cel.ListType(cel.StringType), "reported": cel.IntType,
		"now": cel.TimestampType, "since": cel.DurationType,
	}
)

// environments compile filters and conditions.
type environments struct{ filter, condition, gate *eval.Compiler }

func newEnvironments(cost uint64) (e environments, err error) {
	if e.filter, err = eval.NewCompiler(eval.Options{Variables: filterVariables, Cost: cost}); err != nil {
		return e, err
	}
	if e.gate, err = eval.NewCompiler(eval.Options{Variables: map[string]*cel.Type{"object": cel.DynType}, Cost: cost}); err != nil {
		return e, err
	}
	e.condition, err = eval.NewCompiler(eval.Options{Variables: conditionVariables, Cells: true, Cost: cost})
	return e, err
}

// CompileFilter compiles the filter of a stage. Its variable is downsyncClause. The error is
// [Errors], with the line and column of each fault in the source.
func CompileFilter(source string) (*Expression, error) {
	return compileExpression(source, func(e environments) *eval.Compiler { return e.filter })
}

// CompileCondition compiles the condition of a stage. Its variables are obj and, the same,
// combinedStatus; destinations, reported, now and since. The error is [Errors], with the line and
// column of each fault in the source.
func CompileCondition(source string) (*Expression, error) {
	return compileExpression(source, func(e environments) *eval.Compiler { return e.condition })
}

func compileExpression(source string, choose func(environments) *eval.Compiler) (*Expression, error) {
	e, err := newEnvironments(0)
	if err != nil {
		return nil, err
	}
	p, err := choose(e).Bool(source)
	if err != nil {
		return nil, expressionErrors(source, err)
	}
	return &Expression{p}, nil
}

// expressionErrors returns the faults that err joins, with their positions in the source.
func expressionErrors(source string, err error) (faults Errors) {
	for _, e := range position.All(err) {
		e = hinted(source, e)
		fault := &Error{Err: e.Err}
		if e.Offset >= 0 && e.Offset <= len(source) {
			before := source[:e.Offset]
			fault.Position = Position{Line: 1 + strings.Count(before, "\n"), Column: len(before) - strings.LastIndex(before, "\n")}
		}
		faults = append(faults, fault)
	}
	return faults
}

// Eval evaluates the expression with values for its variables. If the expression is neither true
// nor false, that is an error: a missing key, a variable without a value, a result that is no bool,
// the cost limit. obj and combinedStatus stand for each other.
func (e *Expression) Eval(variables map[string]any) (bool, error) {
	return e.program.Bool(variables)
}
