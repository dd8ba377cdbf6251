// Package explore walks through a lifecycle: from given objects it follows every Stage that can be played, not one that was drawn, and
// returns the states and transitions as a graph, with the time that it takes to get from one to the other.
//
// # Terminology
//
//   - A State is what an object and what its Stages made of others look like between two transitions.
//   - A Transition is a Stage that was played in a State, or an [Action] of a user.
//   - An object rests when its last transition did not change it: no Stage is played on it until somebody else changes it, as in an Engine.
//   - A Target says which States a run is to reach, such as "Ready".
//
// # Usage
//
//	graph, err := explore.Explore(ctx, set, explore.Options{Actions: []explore.Action{explore.Delete()}}, pod)
//	…
//	for _, st := range graph.Unplayed() { … }    // Stages that are never played
//	for _, c := range graph.Cycles() { … }       // c.Livelock: without time passing
//	times, err := graph.TimeTo(explore.Ready, explore.TimeOptions{})
//	fmt.Println(times.Quantile(0.99))
//
// # Semantics
//
// Each start object is explored on its own, on a [memory.Cluster] that holds the others as they were given; they stand still unless a
// Stage of the object changes them. What its Stages create or change belongs to the State from then on, and its Stages are followed too.
//
// States are the same if their objects are the same but for:
//
//   - text that is an RFC 3339 time, or an IP address;
//   - fields named uid and resourceVersion, wherever they are, and uids within other text;
//   - metadata.creationTimestamp and managedFields;
//   - metadata.generation: fields named observedGeneration count by how far they are behind.
//
// The Env of the Set is shown the start objects, as by Learn, and gives Pods addresses; that is all that exploring leaves behind.
//
// Objects of kinds that neither have Stages nor are applied by one are not looked at, nor are Events.
//
// # Time
//
// A State is looked at once, at the earliest time on the path by which it was first found: each transition on it took its least delay.
// Delays that are read from the object as a time, such as those up to a deletionTimestamp, are those at that time. To learn where this
// matters, each transition is also played at its latest, and each further arrival is compared with the first: where Stages, chances or
// delays (by a second or more, which is how exact times on objects are) are others, [State.TimeDependent] is set, and times through that
// State are approximate.
//
// Time alone does not make a Stage match, because the Engine looks at objects when they change. So it is here.
//
// # Determinism
//
// The graph depends on the Set, the Options and the objects alone. Rand() and random template functions always give the same number, so
// that of their outcomes only one is followed.
//
// # Concurrency
//
// A Graph is plain data and safe for concurrent use as long as nobody changes it, as are Times.
//
// [memory.Cluster]: https://pkg.go.dev/github.com/stagecraft-go/stagecraft/stage/memory#Cluster
package explore
