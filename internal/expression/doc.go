// Package expression compiles the expressions of Stages, in jq and CEL. It evaluates them on one
// object at one time, with bounded work and without access to the machine.
//
//	c := expression.NewCompiler(expression.Options{})
//	phase, err := c.JQ(`.status.phase`)
//	ready, err := c.CEL(`self.status.phase == "Running"`, types.BoolType)
//	...
//	s := expression.NewScope(pod, now)
//	outputs, err := phase.Run(s.JQ())
//	ok, err := ready.Bool(s)
//
// # Terminology
//
// A [Scope] is the input of an evaluation: an object, the time, the seed of Rand and further
// variables. A [ValueFrom] is an ExpressionFrom of the Stage API, compiled.
//
// # Determinism
//
// The same expression, object, time and seed give the same result, on every machine. CEL `Now()`
// reads the Scope; `Rand()` is a hash of the seed and of the number of earlier draws in the
// evaluation.
//
// # Concurrency
//
// A Compiler and its compiled expressions are immutable and safe for concurrent use. A Scope must
// not be used from several goroutines at once.
//
// # Compatibility
//
// package internal/jq documents the differences from jq. CEL has the standard library and the
// extensions strings, lists, math, sets, encoders, optionals and two-variable comprehensions. kwok
// has none of these; its functions Now, Rand, UnixSecond, SinceSecond and Quantity are here as
// well.
package expression
