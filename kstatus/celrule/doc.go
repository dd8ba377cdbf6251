// Package celrule makes rules for package kstatus out of CEL expressions: what is on the way, what has failed, what is ready, kind by kind, as
// data that can be loaded from a file.
//
// # Terminology
//
// A Spec is the expressions for the objects of a kind, or of all kinds of a group. They are tried in order: inProgress, failed, current; the
// first that is true decides, and if none is, the object is InProgress. Generations are compared before that, as for every rule: an object
// whose latest generation nobody has seen is InProgress, whatever the expressions say.
//
// # Usage
//
//	rules, err := celrule.Parse("health.yaml", data) // or celrule.Compile(specs...)
//	...
//	profile := kstatus.Extended().With(rules)
//	result := profile.Compute(obj, now)
//
// Expressions see the object as self, and apiVersion, kind, metadata, spec, status and data by their names: status.phase == "Ready".
// Timestamps are strings; Now() is the time that the result is for. The rest of the language is that of CEL in Stages.
//
// An expression that fails (a field is missing, a limit is exceeded) is not true, and does not keep the others from being
// tried; if none is true, the message tells the first failure. Use has() or optional fields for what may be missing.
//
// # Determinism
//
// The same object and time give the same result. Work is counted, not timed: an expression that does too much fails at the same point
// everywhere.
//
// # Concurrency
//
// Compiled rules are immutable and safe for concurrent use. They neither change nor keep objects.
//
// # Compatibility
//
// The three expressions and their order are those of Flux's healthCheckExprs. There, an expression that fails is an error of the whole check.
package celrule
