// Package stage plays kwok Stages: it reads Stage files, decides what happens to an object next and when, and makes it happen on
// any transport, in virtual or in real time.
//
// # Terminology
//
//   - A [Source] is Stage definitions and where they came from. A [Set] is compiled from Sources.
//   - A [Candidate] is a Stage that matches an object, with its chance and its possible delays.
//   - A [Transition] is the decision to play one Stage on one object at one time.
//   - An [Effect] is one thing that a transition does: an [Event], a [Patch], an [Apply] or a [Delete].
//   - An entry is the time an object spends between being seen to match a Stage and the Stage being played or left.
//   - An [Engine] remembers entries and says what is due. A [Player] is engines around a [Transport] and a real clock.
//
// # Usage
//
// To play Stages on a cluster until the context ends:
//
//	source, err := stage.Load("stages/")
//	…
//	set, err := stage.Compile(stage.Options{}, source)
//	if err != nil {
//		return err // pod.yaml:14:27: stage "pod-ready": spec.delay.durationFrom.cel.expression: undeclared reference to 'slf'
//	}
//	err = stage.Play(ctx, set, cluster, stage.PlayerOptions{Seed: 1})
//
// To decide only:
//
//	t, ok := set.Next(obj, now, seed, 0)   // which Stage, due when
//	effects, err := t.Effects(obj, now)    // what it would do
//
// To see why something happens, or nothing does:
//
//	fmt.Print(set.Explain(obj, now))       // every Stage, every requirement, what was seen
//
// What compiles but cannot be meant is found by package stage/lint.
//
// To own the time, as a simulator does, drive an [Engine] by the loop in its documentation.
//
// # Semantics
//
// Of the Stages for the kind of an object, those whose selectors it meets are candidates. One of them is drawn by weight. It is
// played after a delay drawn from its range, unless the object stops matching before: see packages selector and delay. Steps are
// carried out in order, and within a step: event, finalizers, then delete, else patch, then apply. After a delete only the events of later
// steps happen. Templates see the object as it was when the transition fired, finalizers and no-op checks see what earlier steps did.
//
// An expression that fails on an object makes its requirement false, its weight not given, its delay that of the milliseconds field. It
// never hides another Stage, nor another object.
//
// A Stage that is played is entered again at the next observation, if it still matches: a heartbeat goes on because its patch changes
// the object. Effects that change nothing, only an event, say, end it until somebody else changes the object. Rendered YAML is YAML 1.1, as in
// kwok: n, y, no, yes, on and off are booleans, as keys too.
//
// # Transports
//
// A [Transport] returns a result or an error, never neither, and heeds its context: a request that hangs is given up after
// [PlayerOptions.Timeout]. Errors of an API server (apimachinery's api/errors) say what to do: conflicts are read again, throttling, timeouts, 401 and
// 5xx are tried again, the rest is reported. An error of any other type is taken for a failure of the connection, and tried again. Objects carry a
// resourceVersion that grows.
//
// While nobody answers, a worker sends one request at a time and rests up to five seconds in between; when the server is back, all that is due is sent. A kind
// that does not exist is asked for every five seconds at most, and its objects are forgotten.
//
// [PlayerOptions.Select] and [PlayerOptions.Plays] say what is watched and what is played; [Player.Use] swaps the Set while it plays.
//
// # Determinism
//
// Random numbers are hashes of the seed, the group, kind, namespace and name of the object, the number of the entry and the Stage. They are
// drawn once an entry, so that an object which is updated often still advances, and do not depend on the order of
// events, the number of workers or other objects. Template Now, jq now and CEL Now() are the time that the caller gives. The same Set,
// seed and sequence of observations of an object give the same transitions and effects; only addresses allocated by a [render.Env] depend on
// order.
//
// # Concurrency
//
// Sources, Sets, Transitions and Effects are immutable and safe for concurrent use. An Engine belongs to one goroutine. Objects that are
// passed in are neither changed nor kept; objects from a Transport are shared and not changed.
//
// # Compatibility
//
// Sound Stage files for kwok v0.8 work unchanged, in both generations of the API. Where kwok's behaviour is a fault, ours differs on purpose; the
// test in the third column pins it.
//
//	kwok does                                          | we do                                              | test
//	---------------------------------------------------+----------------------------------------------------+---------------------------------
//	checks nothing when Stages are loaded              | report all faults, with positions                  | TestFaultsAreReportedTogether
//	drops unknown fields silently                      | refuse them, or warn if lenient                    | TestLenientLoading
//	leaves apiGroup empty in files                     | default it to v1                                   | TestDifferences/api-group
//	an error in one Stage's CEL or weight hides all    | that requirement is false, that weight not given   | TestDifferences/cel-error
//	a number of the object equals no value             | it equals its decimal text                         | TestDifferences/number-in
//	CEL sees Pods and Nodes as Go types                | CEL sees every object as a map                     | TestDifferences/cel-map
//	panics on a negative sum of weights                | a negative weight is 0                             | TestDifferences/negative-weight
//	an integer from jq is no weight                    | it is                                              | TestDifferences/integer-weight
//	ignores jitterDurationFrom.cel                     | read it                                            | TestDifferences/cel-jitter
//	a CEL timestamp is no delay                        | it means that time minus now                       | TestDifferences/cel-timestamp
//	plays at once when the delay cannot be read        | use the milliseconds field                         | TestDifferences/delay-error
//	redraws Stage and delay at every update            | draw once an entry                                 | TestOftenUpdatedObjectAdvances
//	plays a Stage that no longer matches               | cancel it                                          | TestMismatchCancels
//	patches, then deletes, for delete beside patches   | delete wins                                        | TestDifferences/delete-wins
//	finalizer steps see the original list              | they see what earlier steps did                    | TestDifferences/finalizers
//	adds a finalizer twice                             | add what is missing, once                          | TestDifferences/finalizers
//	does not prefix from of a JSON patch               | prefix it like path, and escape the root           | TestDifferences/json-from
//	an empty template sends null                       | it sends nothing                                   | TestDifferences/empty-template
//	numbers are strings in templates                   | numbers are numbers                                | TestDifferences/template-numbers
//	templates read the process environment             | they cannot                                        | TestDifferences/no-env
//	env and $ENV in jq are empty                       | they are refused, as is input                      | TestDifferences/jq-surroundings
//	impersonation in apply is ignored for Pods, Nodes  | it is honoured                                     | TestImpersonation
//	Delete of a missing object fails                   | it succeeds                                        | TestDeleteOfMissingObject
//	deletes a Pod again that is about to go            | leave it alone                                     | TestPodIsDeletedOnce
//	drops an effect on conflict                        | render the rest against the new object, go on      | TestConflictGoesOn
//	a loop of Stages without delay runs for ever       | the object is parked as a livelock                 | TestLivelock
//	loses a finalizer that a step removes and adds     | keep it                                            | TestDifferences/finalizers
//	a CEL duration is a weight                         | it is refused                                      | TestDifferences/cel-weight
//	a weight may be more than 2^40                     | it counts as 2^40                                  | TestDifferences/heavy-weight
//	CEL text is a duration, never a time or nothing    | it is read like text from jq                       | TestDifferences/cel-text
//	comparing Quantities gives an int in CEL           | it gives a bool                                    | TestDifferences/quantities
//	jq sees integers beyond 2^53 as floats             | they stay exact                                    | TestDifferences/big-integers
//	a path may be missing in a JSON patch              | that is an error                                   | TestDifferences/patch-shape
//	a patch may be of the wrong shape                  | that is an error                                   | TestDifferences/patch-shape
//
// One rule goes beyond the specification of this project: when a conflict shows that the Stage no longer matches, a transition of
// which nothing was sent is dropped, but one that has begun is finished, because half of a transition is worse than a late one.
package stage
