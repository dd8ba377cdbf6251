// Package stage decides by kwok Stages what happens to a Kubernetes object next, and when.
//
// It is pure: it has no goroutine, no clock and no I/O. Package stage/player plays its decisions on
// a cluster, package stage/simulation in memory and in virtual time.
//
// # Terminology
//
//   - A Source is Stage definitions and where they came from. A Set is compiled from Sources.
//   - A Candidate is a Stage that matches an object, with its chance and its possible delays.
//   - A Transition is the decision to play one Stage on one object at one time.
//   - An Effect is one thing that a transition does: an Event, a Patch, an Apply or a Delete.
//   - An entry is the time from when an object is seen to match a Stage until the Stage is played,
//     or the object no longer matches.
//   - An Engine remembers entries and says what is due.
//
// # Usage
//
//	source, err := stage.Load("stages/")
//	…
//	set, err := stage.Compile(stage.Options{}, source)
//	if err != nil {
//		return err // pod.yaml:14:27: stage "pod-ready": spec.delay.durationFrom.cel.expression: undeclared reference to 'slf'
//	}
//	t, ok := set.Next(obj, now, seed, 0)   // which Stage is played, and when
//	effects, err := t.Effects(obj, now)    // what it does
//	fmt.Print(set.Explain(obj, now))       // why: every Stage, every requirement, what was seen
//
// To play the Stages on a cluster, use stage/player. To own the time, drive an Engine by the loop
// in its documentation. Package stage/lint finds Stages that compile but cannot be meant.
//
// # Semantics
//
// Of the Stages for the kind of an object, those whose selectors it meets are candidates. One of
// them is drawn by weight. It is played after a delay drawn from its range, unless the object stops
// matching before: see packages selector and delay. Steps are carried out in order, and within a
// step: event, finalizers, then delete, else patch, then apply. After a delete only the events of
// later steps happen. Templates read the object as it was when the transition fired; finalizers and
// no-op checks read it as earlier steps left it.
//
// An expression that fails on an object makes its requirement false, its weight not given, its
// delay that of the milliseconds field. It never hides another Stage, nor another object.
//
// A Stage that was played is entered again at the next observation, if it still matches: a
// heartbeat goes on because its patch changes the object. If the effects change nothing, or are
// only an event, the Stage is not played again until somebody else changes the object. Rendered
// YAML is YAML 1.1, as in kwok: n, y, no, yes, on and off are booleans, as keys too.
//
// # Extensions
//
// Two annotations of a Stage say what kwok cannot: [delay.ExtensionAnnotation] has jitter that is added, draws
// from distributions and offsets from a time; [PatchesExtension] increments numbers and changes single
// conditions. They need Options.Extensions. EXTENSIONS.md describes them.
//
// # Determinism
//
// Random numbers are hashes of the seed, the group, kind, namespace, name and uid of the object, its
// age when it was first observed, the number of the entry and the Stage. They are drawn once an
// entry, so that an object which is updated often still advances. They do not depend on the order
// of events, the number of workers or other objects. Template Now, jq now and CEL Now() are the
// time that the caller gives. The same Set, seed and sequence of observations of an object give the
// same transitions and effects; only addresses allocated by a [render.Env] depend on order. The
// uids of stage/memory follow from its seed, the name of the object and how many objects had the
// name before, so a simulation repeats as a whole; those of a cluster are never the same twice.
//
// What draws anew:
//
//   - An object with another uid, though of the same name, is another object: its outcomes and
//     delays are independent of those of the object before.
//   - An object that is forgotten ([Engine.Forget]) and observed again is a new one to the Engine:
//     its entries count from 0 again. The age at the first observation, in whole seconds since
//     metadata.creationTimestamp (0 without one, or if it is ahead), keeps it from repeating what
//     it drew from 0 on before; within the same second of its age it does repeat that.
//   - A program that is restarted, and another shard that takes an object over, observe it for the
//     first time as after Forget. A delay that was running is drawn anew, in full; so is the choice
//     between Stages. An object without creationTimestamp draws from its first entry again.
//
// # Concurrency
//
// Sources, Sets, Transitions and Effects are immutable and safe for concurrent use. An Engine
// belongs to one goroutine. Objects that are passed in are neither changed nor kept.
//
// # Compatibility
//
// Sound Stage files for kwok v0.8 work unchanged, in both generations of the API. Where kwok's
// behaviour is a fault, this package differs on purpose: COMPATIBILITY.md at the root of the module
// lists every difference and the test that pins it.
package stage
