// Package kstatus computes the status of a Kubernetes object, and the reason for it, from the
// object alone: whether its desired state is reached, still in progress, or failed.
//
// # Terminology
//
//   - A [Status] is InProgress, Failed, Current, Terminating, NotFound or Unknown, as upstream
//     (sigs.k8s.io/cli-utils/pkg/kstatus) defines them.
//   - A [Result] is a status with its reason, a message, the field that decided, and the time after
//     which the object must be computed again. "Verdict" means the same.
//   - A [Rule] returns a verdict on an [Object], or has no opinion. [Rules] are all rules of a
//     profile, in the order in which they are tried.
//   - [Extended] is the profile that is right more often, [Standard] the one of upstream.
//   - The [Basis] of a verdict is what it rests on: a rule for the kind, a convention of the API, the
//     words of the status, or a guess.
//   - Reconciling and Stalled are the abnormal-true conditions: Reconciling=True goes with
//     InProgress, Stalled=True with Failed.
//   - A [Child] of an object is a dependent, as the Pods of a Deployment, or an object to which it
//     refers. [Rules.Combine] says how children change the verdict.
//   - An object is Suspended if someone paused it intentionally. A Failed object is Terminal if trying
//     again does not help.
//
// # Usage
//
//	r := kstatus.Compute(obj)
//	switch r.Status {
//	case kstatus.Current:
//		… // go on, or look at r.Basis first: not every verdict is as certain as the others
//	case kstatus.Failed:
//		return errors.New(r.String()) // with the reason and the message, safe for a terminal
//	default:
//		// Wait for the next change of the object or, if r.RecheckAfter is not 0, that long.
//	}
//
// There are three ways to ask:
//
//   - [Compute]: the better rules, now.
//   - [Rules.Compute]: any rules, at any time. Standard().Compute(obj, now) is exactly upstream.
//     [Rules.ComputeTyped] is the same for Go types.
//   - [Rules.Inspect]: also with the children of the object and the definition of its kind, which it
//     looks up.
//
// [Compute] is not upstream's function of this name, which calls about half of the objects in
// progress Current that ACCURACY.md lists: the name that is found first gives the answer that is
// right more often.
//
// Your own rules come before those of a profile:
//
//	rules := kstatus.Extended().With(map[schema.GroupKind]kstatus.Rule{
//		{Group: "example.com", Kind: "Widget"}: widget,
//		{Group: "*.example.com", Kind: "*"}:    kstatus.Expectations{Conditions: []string{"Ready"}}.Rule,
//	})
//	r := rules.Compute(obj, now)
//
// # When to take which
//
//   - Rules in Go ([Rules.With]) for kinds of your own, in your own program.
//   - Package celrule for rules in a file, as Flux has them, and for objects or definitions that say by
//     an annotation what ready means.
//   - Package argolua for the health scripts of Argo CD, where it decides today.
//   - [Rules.WithDefinitions], or a [DefinitionReader], for kinds without a rule.
//   - [Result].Basis, and wait.Goal.Basis, where going on too early costs more than waiting.
//   - [Kinds] to see which kinds have rules; [Rules.Without] to leave some to the general rules.
//   - Package audit for the authors of a kind: what its controller has to write.
//
// # Children
//
// With a [Reader] of the cluster, children count too. The error is of look-ups; the verdict holds
// without the children that could not be looked up:
//
//	r, children, err := rules.Inspect(ctx, reader, obj, now)
//
// Package kstatus/wait waits until objects of a cluster are ready, with the same verdicts.
//
// [Rules.Explain] returns which rules were tried and which fields they read.
//
// # Determinism
//
// A verdict is a function of the object and the time that is passed in. Only [Compute] reads the
// clock. Objects are not kept, and only [Rules.Augment] changes one. No rule returns an error: what
// cannot be determined is Unknown, with a reason.
//
// # Concurrency
//
// Rules are immutable and safe for concurrent use, if the rules that were passed to [Rules.With]
// are. Results, Conditions and Statuses are values. Computing with the standard profile allocates
// nothing, except for the names of several containers in a crash loop. A result formats its message when
// the caller wants it.
//
// # Compatibility
//
// For every well-formed object, the standard profile returns the status, reason and message of
// upstream at its head of October 2025. The last release before that, v0.37.2, lacks the rule that
// a suspended Job is Current. Objects on which upstream panics, fails or misreads a field are
// treated as follows. internal/dev/bench/kstatus has a generator for each row.
//
//	upstream does                                              | we do                                    | test
//	-----------------------------------------------------------+------------------------------------------+------------------------------
//	fails on or ignores numbers that are not int64 or int      | read them, and json.Number, and digits   | TestTolerance/numbers
//	fails on a generation that is null or no integer           | take it for missing, see Result.Skipped  | TestTolerance/generation
//	fails on a deletionTimestamp that is null                  | take it for missing                      | TestTolerance/null
//	fails on a deletionTimestamp that is no string             | the object is Terminating                | TestTolerance/deletion
//	fails on a condition whose status is a bool                | it is True or False                      | TestTolerance/bool
//	fails on one malformed condition                           | skip it, see Result.Skipped              | TestTolerance/condition
//	fails on a reason or message that is no string             | take it for empty                        | TestTolerance/reason
//	fails on metadata, status or conditions of the wrong type  | Unknown, reason Unreadable               | TestTolerance/unreadable
//	panics on or fails on malformed containerStatuses          | skip what cannot be read                 | TestTolerance/containers
//	fails on an unknown phase of a Pod                         | Unknown, reason UnknownPhase             | TestTolerance/phase
//	panics on nil                                              | Unknown, reason NoObject                 | TestTolerance/nil
//	never takes back the conditions that Augment wrote         | take them out on recovery                | TestAugmentRecovers
//	takes them for conditions of the controller                | ignore them in verdicts                  | TestAugmentIsNoEvidence
//	sets lastUpdateTime at every Augment                       | only when the condition changes          | TestAugmentTwiceIsOnce
//	adds an empty status to kinds without one                  | leave them alone                         | TestAugmentAddsNoStatus
//	takes for children what a selector matches                 | what the object controls, by uid         | TestInspect/Pods_of_others_…
//	counts Pods of former revisions                            | only those of the current one            | TestInspect/a_StatefulSet_…
//	is Unknown or NotFound if children cannot be looked up     | the verdict on the object, and an error  | TestInspect/a_look-up_that_…
//
// A condition that Augment wrote has the field augmentedBy, by which it is recognized as long as no
// server removes that field.
package kstatus
