// Package wait waits for objects to be ready, or gone: it follows them in a cluster, judges them by the rules of package kstatus, and says
// of each what it still waits for, why, and since when.
//
// # Terminology
//
// A Ref names an object, whether it is there or not. Its State is the last verdict on it; NotSeen (not looked for yet), NotFound (looked
// for, and not there) and Unknown (could not be looked for: see its Err) are different things. A Goal is what an object shall reach. A
// Collector keeps the states and counts.
//
// # Usage
//
//	err := wait.For(ctx, cluster, refs, wait.Policy{FailFast: true, Report: wait.NewReporter(os.Stderr)})
//	var open *wait.Error
//	if errors.As(err, &open) {
//		for _, s := range open.Open {
//			… // s.Ref is s.Result.Status since s.Since, because of s.Result.Message()
//		}
//	}
//
// [For] is a loop over [Events] and a [Collector]; who wants another end than a Policy has writes that loop.
//
// The cluster is a [Lister], and if it is a [Watcher] too, it is watched, otherwise polled. Both see the same verdicts; what comes and goes
// between two polls is seen by a watch alone. A few objects in a namespace are followed each by itself, more by the namespace, many
// namespaces all at once; only one compact record is kept for each object that is waited for, and for each child where those in progress
// have theirs.
//
// Children are looked at while an object is InProgress, as [kstatus.Rules.Inspect] does, but followed as the objects themselves are. What
// hinders that is in the Err of the state; the verdict is then that on the object alone.
//
// A kind that is not there is asked for again after a pause: its objects are NotFound because of NoKind. So is one that is forbidden: its
// objects are Unknown. The others go on. Verdicts that time alone can change are looked at again when that time has come.
//
// What can never be met is not waited for: a reference that names nothing is an error at once ([ErrInvalid]), and one whose namespace does
// not suit its kind has failed for good as soon as any object of that kind is seen.
//
// # Determinism
//
// Pauses are drawn from Options.Seed and the place that is followed. Of objects in different places it is open whose change is seen first;
// the changes of one object keep their order.
//
// # Concurrency
//
// Each place that is followed has a goroutine; rules, callbacks and iterators run in the caller's. When For returns, or the loop over Events
// ends, all goroutines have ended. A Collector and a Reporter must not be used from several goroutines at once.
//
// # Compatibility
//
// Differences from the pollers, watchers and waiting tasks of cli-utils:
//
//	cli-utils                                                    here
//	Unknown: not seen yet, a failed look-up, a missing kind      NotSeen, Unknown with an Err, NotFound
//	an object that is not in the first list: no event            NotFound
//	a kind that is defined later: given up, unless it was        found after a pause
//	waited for
//	Forbidden: everything ends                                   the objects of that kind are Unknown
//	children: by label, listed at every change                   by owner and current revision, followed
//	a failed look-up of children: the parent is Unknown          attached to the state
//	every update is an event                                     every change of the verdict is
//	a suspended object is ready                                  only if the Policy says so
//	a namespace that does not suit the kind: an error of the     failed for good, once an object tells
//	RESTMapper
package wait
