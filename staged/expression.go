package staged

import (
	"github.com/google/cel-go/cel"

	"github.com/stagecraft-go/stagecraft/staged/internal/eval"
)

// An Expression is a filter or a condition by itself, for tests and tools. It is immutable and safe for concurrent use.
type Expression struct{ program *eval.Program }

// The variables of the two kinds of expression. Objects stay dynamic maps, so that reading an absent key is an error and never false.
var (
	filterVariables    = map[string]*cel.Type{"downsyncClause": cel.DynType}
	conditionVariables = map[string]*cel.Type{
		"obj": cel.DynType, "combinedStatus": cel.DynType,
		"destinations": cel.ListType(cel.StringType), "reported": cel.IntType,
		"now": cel.TimestampType, "since": cel.DurationType,
	}
)

// environments compile the two kinds of expression.
type environments struct{ filter, condition *eval.Compiler }

func newEnvironments(cost uint64) (e environments, err error) {
	if e.filter, err = eval.NewCompiler(eval.Options{Variables: filterVariables, Cost: cost}); err != nil {
		return e, err
	}
	e.condition, err = eval.NewCompiler(eval.Options{Variables: conditionVariables, Cells: true, Cost: cost})
	return e, err
}

// CompileFilter compiles the filter of a stage: its variable is downsyncClause.
func CompileFilter(source string) (*Expression, error) {
	return compileExpression(source, func(e environments) *eval.Compiler { return e.filter })
}

// CompileCondition compiles the condition of a stage: its variables are obj and, the same, combinedStatus; destinations, reported, now and since.
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
		return nil, err
	}
	return &Expression{p}, nil
}

// Eval evaluates the expression on values of its variables. Whatever keeps it from being true or false is an error: a missing key, a variable that is not
// given, a result that is no bool, the cost. obj and combinedStatus stand for each other.
func (e *Expression) Eval(variables map[string]any) (bool, error) {
	return e.program.Bool(variables)
}
