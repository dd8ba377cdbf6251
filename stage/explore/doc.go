// Package explore finds all states that objects can reach: from given objects it follows every
// Stage that can be played, not only one that was drawn, and returns the states and transitions as
// a graph, with the time that it takes to get from one state to another.
//
// # Terminology
//
//   - A State is what an object, and the other objects that its Stages created or changed, look
//     like between two transitions.
//   - A Transition is a Stage that was played in a State, or an [Action] of a user.
//   - An object rests if its last transition did not change it: as in an Engine, no Stage is played
//     on it until something else changes it.
//   - A Target says which States are to be reached, such as "Ready".
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
// Each start object is explored on its own, on a [memory.Cluster] that holds the other objects as
// they were given. Those do not change unless a Stage of the start object changes them. An object
// that its Stages create or change belongs to the State from then on, and Stages are played on it
// as well.
//
// Two States are the same if their objects are the same, apart from:
//
//   - text that is an RFC 3339 time or an IP address;
//   - fields named uid and resourceVersion anywhere, and uids within other text;
//   - metadata.creationTimestamp and managedFields;
//   - metadata.generation: of fields named observedGeneration, the distance to it counts.
//
// The Env of the Set observes the start objects and allocates addresses to Pods; exploring has no
// other side effects.
//
// Objects of kinds that have no Stages and that no Stage applies are ignored, and so are Events.
//
// # Time
//
// A State is evaluated once, at the earliest time on the path by which it was first found: each
// transition on that path took its least delay. A delay that is read from the object as a time,
// such as the time until a deletionTimestamp, is the delay at that moment. To find out where this
// matters, each transition is also played at its latest time, and each further arrival at a State
// is compared with the first. If the Stages, their chances or their delays differ (delays by a
// second or more, because times in objects have seconds), [State.TimeDependent] is set, and times
// through that State are approximate.
//
// As in the Engine, which evaluates objects when they change, time alone does not make a Stage
// match.
//
// # Determinism
//
// The graph depends only on the Set, the Options and the objects. Rand() and other random template
// functions always return the same number, so that only one of their results is followed.
//
// # Concurrency
//
// A Graph and Times are plain data, and safe for concurrent use as long as nobody changes them.
//
// [memory.Cluster]: https://pkg.go.dev/github.com/stagecraft-go/stagecraft/stage/memory#Cluster
package explore
