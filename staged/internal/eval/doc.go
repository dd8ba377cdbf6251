// Package eval compiles the CEL expressions of staged placement once, and evaluates them with bounded work on values of
// any type, which package expr of stages has no need for.
//
// # Terminology
//
// A Compiler knows the variables of one kind of expression. A Program is a compiled expression; it can say what it reads.
//
// # Determinism
//
// Expressions see the values they are given and nothing else. Work is counted, not timed.
//
// # Concurrency
//
// Compilers and Programs are immutable and safe for concurrent use.
package eval
