// Package cel compiles expressions of the Common Expression Language once and evaluates them with
// bounded work. It has no variables and no functions beyond standard CEL. Package expression adds
// the variables and functions of Stages, and staged/internal/eval adds those of staged placement.
//
//	c, err := cel.NewCompiler(cel.Options{Variables: map[string]*types.Type{"obj": types.DynType}})
//	...
//	p, err := c.Compile(`obj.status.phase == "Running"`)
//	...
//	holds, err := p.Bool(activation)
//
// # Determinism
//
// Maps are iterated in the order of their keys. Work is counted, not timed: an expression that does
// too much fails at the same point everywhere.
//
// # Concurrency
//
// Compilers and Programs are immutable and safe for concurrent use.
package cel
