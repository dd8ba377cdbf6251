// Package wait waits until objects are ready, or deleted. It observes them in a cluster, computes
// their status with the rules of package kstatus, and says for each object what it still waits for,
// why, and since when.
//
// # Terminology
//
//   - A [Ref] names an object, whether it exists or not.
//   - A [State] is the last verdict on an object. NotSeen means that it was not looked up yet,
//     NotFound that it does not exist, and Unknown that it cannot be looked up: see State.Err.
//   - A [Goal] is the status that an object shall reach.
//   - A [Collector] keeps the states and counts them.
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
// [For] is a loop over [Events] with a [Collector]. Write that loop yourself if a [Policy] does not
// have the end that you need.
//
// The cluster is a [transport.Lister]. If it is also a [transport.Watcher], it is watched, otherwise
// polled. The verdicts are the same, but polling misses an object that is created and deleted between
// two polls. List must obey label selectors and the field selector metadata.name. A
// few objects in a namespace are observed one by one, more by namespace, and those of many
// namespaces all at once. In memory there is only one compact record for each object that is waited
// for, and for each child of an object in progress.
//
// Children count as in [kstatus.Rules.Inspect]. They are observed while their owner is InProgress.
// If they cannot be looked up, the error is in State.Err and the verdict is that on the object
// alone.
//
// A Lister that is also a [kstatus.DefinitionReader], like those of stage/memory, stage/kube and
// kstatus/cliutils are, gets a request for the definition of a kind if the verdict rests on words or on a
// guess: once for each kind and wait, and for ten seconds at most. If that fails, the verdict holds.
//
// Not every Current is equally certain: it can rest on a rule for the kind, on a convention of the API,
// on words, or on a guess. Goal.Basis demands a basis; an object on a weaker one is held, for
// Goal.HoldOn or until it has a better one.
//
// [Collector.Culprit] and [Collector.Summary] say which object holds a wait up and since when, and a
// [Reporter] with All shows a line for each object.
//
// An annotation that says not to wait for an object counts if the rules are those of
// [kstatus.Rules.HonorNoWait].
//
// If the cluster does not have a kind, its objects are NotFound with the reason NoKind; if listing
// it is forbidden, they are Unknown. Both are tried again after a backoff, and other kinds are not
// affected. A list without an answer fails after half a minute. After any other failure of a list
// the verdicts on its objects stay, with the error next to them; they become Unknown at the first
// failure after half a minute of failures. If time alone can change a verdict, it is computed again
// at that time.
//
// A Job that is complete has reached its goal also when it is deleted afterwards, as
// ttlSecondsAfterFinished demands, and so has any object that writes when it ended, and a Pod that
// succeeded. One that has failed for good stays failed. An object that is created, ends and is
// deleted between two polls was never seen.
//
// A wait that cannot succeed ends early: a reference that cannot name an object is an error at once
// ([ErrInvalid]). A reference whose namespace does not suit its kind fails when the first object of
// that kind is seen. Goal.MissingTimeout limits how long an object may be missing. With
// Policy.FailFast every object is looked at once before the first failure ends the wait; an object
// that cannot be looked at delays the end by half a minute at most.
//
// # Determinism
//
// The jitter is drawn from Options.Seed and the query. The changes of one object keep their order;
// the order among objects of different queries depends on the cluster.
//
// # Concurrency
//
// Each query has a goroutine. Rules, callbacks and iterators run in the goroutine of the caller.
// All goroutines have ended when For returns or the loop over Events ends. A Collector and a
// Reporter must not be used from several goroutines at once.
//
// # Compatibility
//
// Differences from the pollers, watchers and wait tasks of cli-utils:
//
//	cli-utils                                                    here
//	Unknown: not seen yet, a failed look-up, a missing kind      NotSeen, Unknown with an Err, NotFound
//	an object that is not in the first list: no event            NotFound
//	a kind that is defined later: given up, unless it was        found after a backoff
//	waited for
//	Forbidden: the whole wait ends                               the objects of that kind are Unknown
//	children: by label, listed at every change                   by owner and current revision, watched
//	a failed look-up of children: the parent is Unknown          the error is in the state
//	every update is an event                                     every change of the verdict is an event
//	a failed list: every object is Unknown                       the last verdicts hold for half a minute
//	a Job that is deleted after it is complete: NotFound         it has reached its goal
//	the rules of package status                                  [kstatus.Extended]; Options.Rules has them
//	                                                             by the name of [kstatus.Standard]
//	a suspended object is ready                                  only if the Policy says so
//	a namespace that does not suit the kind: an error of the     failed, once an object of the kind is
//	RESTMapper                                                   seen
package wait
