// Package stage decides what happens to a Kubernetes object next, and when. kwok Stages are the
// rules.
//
// The package is pure: it has no goroutine, no clock and no I/O. Package stage/player plays its
// decisions on a cluster. Package stage/simulation plays them in memory and in virtual time.
//
// # Terminology
//
//   - A Source is Stage definitions and their origin, such as files. A Set is compiled from
//     Sources.
//   - A Candidate is a Stage that matches an object, with its chance and its possible delays.
//   - A Transition is the decision to play one Stage on one object at one time.
//   - An Effect is one thing that a transition does: an Event, a Patch, an Apply or a Delete.
//   - An entry begins when an object matches a Stage and this Stage is chosen. It ends when the
//     Stage is played, or when the object no longer matches.
//   - An Engine remembers entries and returns the transitions that are due.
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
// To play the Stages on a cluster, use stage/player. To control the time yourself, drive an Engine
// with the loop in its documentation. Package stage/lint finds mistakes in Stages that compile.
//
// # Semantics
//
// A Stage is a candidate if it is for the kind of the object and the object meets its selector. One
// candidate is drawn by weight. The Stage is played after a delay drawn from its range, unless the
// object stops matching before: see packages selector and delay. Steps happen in order. The order
// within a step is: event, finalizers, then delete, or else patch, then apply. After a delete only
// the events of later steps happen. Templates read the object as it was when the transition was
// due. Finalizers and no-op checks read the object as earlier steps left it.
//
// If an expression fails on an object, its requirement is false, its weight is not given, and its
// delay is the milliseconds field. A failed expression never affects another Stage or another
// object.
//
// After a Stage was played, the object enters it again at the next observation, if the Stage still
// matches. A heartbeat goes on because its patch changes the object. If the effects change nothing,
// or are only an event, the Stage is not played again until another client changes the object.
// Rendered YAML is YAML 1.1, as in kwok: n, y, no, yes, on and off are booleans, also as keys.
//
// # Extensions
//
// Two annotations of a Stage add to what kwok can do. [delay.ExtensionAnnotation] adds jitter,
// draws from distributions, and offsets from a time. [PatchesExtension] increments numbers and
// changes single conditions. Both need Options.Extensions. EXTENSIONS.md describes them.
//
// # Determinism
//
// A random number is a hash of the seed, the object, the number of the entry and the Stage. The
// object counts with its group, kind, namespace, name and uid, and with its age at the first
// observation. They are drawn once per entry, so that an object with frequent updates still
// advances. They do not depend on the order of events, the number of workers or other objects.
// Template Now, jq now and CEL Now() return the time that the caller passes. The same Set, seed and
// sequence of observations of an object give the same transitions and effects. Only addresses
// allocated by a [render.Env] depend on the order. In stage/memory a uid follows from the seed, the
// name of the object, and the number of earlier objects with the name, so that a whole simulation
// repeats. The uids of a cluster are different each time.
//
// New random numbers are drawn in these cases:
//
//   - An object with the same name and another uid is another object. Its outcomes and delays are
//     independent of the previous object.
//   - An object that is forgotten ([Engine.Forget]) and observed again is new to the Engine: its
//     entries count from 0 again. The draws also depend on the age at the first observation, in
//     whole seconds since metadata.creationTimestamp, so the object does not repeat its earlier
//     draws. It does repeat them within the same second of its age. The age is 0 without a
//     creationTimestamp, or with one in the future.
//   - A restarted program, or another shard that takes an object over, observes the object for the
//     first time, as after Forget. A running delay is drawn again, and starts again; so is the
//     choice between Stages. An object without creationTimestamp draws from its first entry again.
//
// # Concurrency
//
// Sources, Sets, Transitions and Effects are immutable and safe for concurrent use. An Engine
// belongs to one goroutine. The package neither changes nor keeps objects that are passed to it.
//
// # Compatibility
//
// Sound Stage files for kwok v0.8 work unchanged, in both generations of the API. Where kwok has a
// fault, this package differs intentionally: COMPATIBILITY.md at the root of the module lists every
// difference and the test that checks it.
package stage
