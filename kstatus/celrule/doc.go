// Package celrule makes rules for package kstatus from CEL expressions, which can be loaded from a
// file: for each kind, one expression says when an object is in progress, one when it has failed,
// and one when it is current.
//
// # Terminology
//
// A [Spec] holds the expressions for the objects of a kind, or of all kinds of a group. They are
// tried in the order inProgress, failed, current. The first one that is true decides; without one,
// the object is InProgress. The general rules of kstatus come first: an object whose controller has
// not observed the latest generation is InProgress, whatever the expressions say. All other rules
// of a profile come after, also if the Spec is for all kinds of a group.
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
// The others are tried all the same. Without a true one, the message contains the first failure. Use
// has() or optional fields for fields that may be missing: has(status.phase), has(self.status). If
// the object has no status at all, the reason is NoStatus.
//
// # Expressions in annotations
//
// With [Annotated], an object itself says what ready means, by the annotations
// stagecraft-go.github.io/current, in-progress, failed and message. [DefinitionRules] reads the same
// annotations of a CustomResourceDefinition, for all objects of its kind. This is off by default, until upstream has decided on a
// form (https://github.com/kubernetes-sigs/cli-utils/issues/679). The form was chosen for these reasons:
//
//   - CEL, because Flux (healthCheckExprs), kro (readyWhen) and the API server speak it. Helm's proposal
//     (HIP-0025: helm.sh/readiness-success, a path, an operator and a value) and pulumi.com/waitFor
//     cannot compare two fields, such as replicas with the wanted number.
//   - Three expressions in the order of Flux, because one that says only when an object is ready, as
//     that of kro, cannot say that it has failed. Expressions can be copied from Flux as they are.
//   - Annotations, because charts and definitions can carry them today, and no controller has to know
//     them.
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
// The three expressions and their order are those of healthCheckExprs in Flux, and [Parse] reads
// these files too. [Spec.Flux] writes a Spec as Flux wants it, [Spec.Kro] as kro does.
// internal/dev/celrules evaluates Specs and what they are written as over objects of many projects,
// with the code of Flux and kro.
//
//	Flux does                                             | we do
//	------------------------------------------------------+--------------------------------------------------
//	an expression that fails is an error of the check     | it is not true
//	the generation must be the observed one               | the general rules of the profile come first
//	the group of apiVersion counts, and not its version   | the same
//	an entry without a kind is for all kinds of the group | the same
package celrule
