// Package eval compiles the CEL expressions of staged placement once, and evaluates them with bounded work on values of
// any type.
//
// It is not package expr, which serves Stages, because little of that could be used and all of it would be linked: expr is jq first, and brings gojq
// and cel-go's extensions, 16 packages, which would take staged over its budget of 150; its expressions have no typed variables, where here the type of
// reported and num is half of what a compilation finds; and what a part of an expression says, which Explain needs, is not kept there. Shared they have
// the limits on what an expression builds, in the shape that cel-go asks for.
//
// # Terminology
//
// A Compiler knows the variables of one kind of expression. A Program is a compiled expression; it can say what it reads.
//
// A quick part of a Program runs on plain Go values; it decides what it is sure of, and leaves the rest to cel-go.
//
// # Determinism
//
// Expressions see the values they are given and nothing else. Work is counted, not timed.
//
// # Concurrency
//
// Compilers and Programs are immutable and safe for concurrent use.
package eval
