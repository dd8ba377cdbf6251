// Package explore finds all states that objects can reach. It starts from given objects and follows
// every Stage that can be played, not only a drawn one. The result is a graph of states and
// transitions, with the time that it takes to get from one state to another.
//
// # Terminology
//
//   - A State is the content of an object, and of the other objects that its Stages created or
//     changed, between two transitions.
//   - A Transition is a Stage that was played in a State, or an [Action] of a user.
//   - An object rests if its last transition did not change it. As in an Engine, no Stage is played
//     on the object until another client or a Stage of another object changes it.
//   - A Target selects the States to reach, such as "Ready".
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
// Each start object is explored separately, on a [memory.Cluster] with the other given objects.
// Only Stages of the start object can change the other objects. An object that these Stages create
// or change then belongs to the State, and Stages are also played on it.
//
// Two States are the same if their objects are the same, apart from:
//
//   - text that is an RFC 3339 time or an IP address;
//   - fields named uid and resourceVersion anywhere, and uids within other text;
//   - metadata.creationTimestamp and managedFields;
//   - metadata.generation. A field named observedGeneration is compared by its difference to the
//     generation.
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
// such as the time until a deletionTimestamp, is the delay at this moment. To find out where the
// moment matters, each transition is also played at its latest time, and each further arrival at a
// State is compared with the first. [State.TimeDependent] is set if the Stages, their chances or
// their delays differ; delays must differ by a second or more, because times in objects have
// seconds. Times through such a State are approximate.
//
// Time alone does not make a Stage match. The same is true in an Engine, which evaluates objects
// when they change.
//
// # Determinism
//
// The graph depends only on the Set, the Options and the objects. Rand() and other random template
// functions always return the same number, so that only one of their results is followed.
//
// # Concurrency
//
// A Graph and Times are plain data, and safe for concurrent use as long as no goroutine changes
// them.
//
// [memory.Cluster]: https://pkg.go.dev/github.com/stagecraft-go/stagecraft/stage/memory#Cluster
package explore
