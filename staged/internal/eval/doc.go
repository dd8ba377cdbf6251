// Package eval compiles the CEL expressions of staged placement: it adds typed variables, the
// functions num and cell, arithmetic on them, and what an expression says, to package internal/cel.
//
// It does without the extensions that expressions of Stages have: they would take staged over its
// budget of packages.
//
// # Terminology
//
// A Compiler knows the variables of one kind of expression. A Program is a compiled expression; it
// can say what it reads.
//
// # Determinism
//
// Expressions see the values they are given and nothing else. Work is counted, not timed.
//
// # Concurrency
//
// Compilers and Programs are immutable and safe for concurrent use.
package eval
