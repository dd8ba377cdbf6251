// Package fleet holds what a rollout and a transport tell each other: revisions and their content, what
// was observed around a policy, and placements. It is plain data; package staged decides, and the
// adapters of package staged/player observe and place.
//
// # Terminology
//
//   - A revision is the workload as its source holds it at one moment. [Identify] hashes what clusters
//     receive of it, so that the same text is the same revision, whenever it comes.
//   - A [World] is what was observed around a policy at one moment.
//   - A [Placement] is clusters that are to have one revision, or are to keep what they have.
//   - [Evidence] says how well a report is tied to a revision.
//   - The hub is the API server that holds the workload. Its clock counts: see [Instant].
//
// # Usage
//
//	snapshot, err := fleet.NewSnapshot(objects) // snapshot.Revision is the identity of the objects
//
// # Concurrency
//
// The types are plain data.
package fleet
