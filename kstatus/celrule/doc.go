// Package celrule makes rules for package kstatus from CEL expressions, which can be loaded from a
// file: for each kind, one expression says when an object is in progress, one when it has failed,
// and one when it is current.
//
// # Terminology
//
// A [Spec] holds the expressions for the objects of a kind, or of all kinds of a group. They are
// tried in the order inProgress, failed, current. The first one that is true decides; if none is,
// the object is InProgress. The general rules of kstatus come first: an object whose controller has
// not observed the latest generation is InProgress, whatever the expressions say.
//
// # Usage
//
//	rules, err := celrule.Parse("health.yaml", data) // or celrule.Compile(specs...)
//	...
//	profile := kstatus.Extended().With(rules)
//	result := profile.Compute(obj, now)
//
// In an expression, self is the object, and apiVersion, kind, metadata, spec, status and data are
// its fields: status.phase == "Ready". Timestamps are strings. Now() is the time for which the
// result is computed. The rest of the language is that of CEL in Stages.
//
// An expression that fails, because a field is missing or a limit is exceeded, counts as not true.
// The others are tried all the same. If none is true, the message contains the first failure. Use
// has() or optional fields for fields that may be missing.
//
// # Determinism
//
// The same object and time give the same result. Limits count steps, not time: an expression that
// does too much fails at the same point on every machine.
//
// # Concurrency
//
// Compiled rules are immutable and safe for concurrent use. They neither change nor keep objects.
//
// # Compatibility
//
// The three expressions and their order are those of healthCheckExprs in Flux. There, an expression
// that fails is an error of the whole check.
package celrule
