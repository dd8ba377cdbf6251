// Package kstatus tells what state a Kubernetes object is in, and why, from the object alone: whether what it asks for is there, on the way, or
// failed.
//
// # Terminology
//
//   - A [Status] is InProgress, Failed, Current, Terminating, NotFound or Unknown, as upstream (sigs.k8s.io/cli-utils/pkg/kstatus) defines them.
//   - A [Result] is a status with reason, message, the field that decided, and when to look again.
//   - A [Rule] gives a verdict on an [Object] or has no opinion. [Rules] are all rules of a profile, in the order in which they are tried.
//   - [Standard] is the profile of upstream, [Extended] the one that is right more often.
//   - Reconciling and Stalled are the abnormal-true conditions: Reconciling=True goes with InProgress, Stalled=True with Failed.
//   - A [Child] is an object that another one made or refers to, as a Deployment its Pods; [Rules.Combine] is what children change.
//   - Suspended is held on purpose: Current, and nothing will happen until someone resumes it. Terminal is Failed for good.
//
// # Usage
//
//	r := kstatus.Compute(obj) // as upstream
//	switch r.Status {
//	case kstatus.Current:
//		…
//	case kstatus.Failed:
//		return fmt.Errorf("%s: %s", r.Reason, r.Message())
//	default:
//		// The next event decides, or, if r.RecheckAfter is not 0, time.
//	}
//
// Rules of one's own stand before those of a profile:
//
//	rules := kstatus.Extended().With(map[schema.GroupKind]kstatus.Rule{
//		{Group: "example.com", Kind: "Widget"}: widget,
//		{Group: "*.example.com", Kind: "*"}:    kstatus.Hints{Conditions: []string{"Ready"}}.Rule,
//	})
//	r := rules.Compute(obj, now)
//
// With a [Reader] of the cluster, children count too; an error is of look-ups, and the verdict holds without what they did not find:
//
//	r, children, err := rules.Inspect(ctx, reader, obj, now)
//
// Package kstatus/wait follows objects and their children until they are ready, with the same verdicts.
//
// [Rules.Explain] tells which rules were tried and what they saw.
//
// # Determinism
//
// A verdict is a function of the object and the time that is passed in; only [Compute] reads the clock. Objects are neither changed nor kept,
// [Rules.Augment] apart. Nothing fails: what cannot be told is Unknown with a reason.
//
// # Concurrency
//
// Rules are immutable and safe for concurrent use, if the rules that they were given are. Results, Conditions and Statuses are values.
// Computing with the standard profile allocates nothing, but for the names of several containers in a crash loop; messages are put together
// when they are asked for.
//
// # Compatibility
//
// The standard profile gives the status, reasons and messages of upstream at its head of October 2025 for every well-formed object; the last
// release before, v0.37.2, lacks the rule that a suspended Job is Current. What upstream panics on, fails on or misreads is treated as follows. Each row has a generator in internal/dev/bench/kstatus, too.
//
//	upstream does                                              | we do                                    | test
//	-----------------------------------------------------------+------------------------------------------+------------------------------
//	fails on or ignores numbers that are not int64 or int      | read them, and json.Number, and digits   | TestTolerance/numbers
//	fails on a generation that is null or no integer           | take it for missing                      | TestTolerance/generation
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
// A condition that Augment wrote carries the field augmentedBy, by which it is known again, as long as no server drops it.
package kstatus
