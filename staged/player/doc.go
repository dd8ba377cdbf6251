// Package player carries out the decisions of package staged on a hub: it watches the hub, asks
// staged for a decision whenever something has changed or is due, writes the status, and places and
// removes through a [Transport]: KubeStellar by default.
//
// All I/O and the clock of staged rollouts are here; package staged has neither.
//
// # Terminology
//
//   - The hub is the cluster that holds StagedBindingPolicies and BindingPolicies. A [Player] sees
//     it through a [transport.Transport].
//   - The space is the API server that holds KubeStellar's ManifestWorks and WorkStatuses. A Player that
//     reads it knows which revision each cluster has: see Options.Space.
//   - A [TraceEvent] is one decision that changed something, or one failure.
//
// # Usage
//
//	err := player.Play(ctx, cluster, player.Options{Events: cluster}) // kubectl describe shows the Events
//
// # Order of writes
//
// A Player stores new snapshots, then writes the status, then creates or updates placements, then
// removes placements that are no longer needed, and at last forgets old snapshots. It stops at the first
// failure and starts again from the stored status, so an interruption at any point loses nothing. Only a
// placement that cannot be made keeps no other one from being made. A
// request without an answer, a panic of a transport, and an answer that is another object than the
// requested one are failures; no answer is awaited for longer than 30 seconds.
//
// # Time
//
// The clock of the hub counts. A Player reads it from the answers to its writes: see fleet.Instant.
//
// # Determinism
//
// A Player stores nothing outside the hub: another Player can take over at any moment. Time is
// real, or virtual within a testing/synctest bubble.
//
// # Concurrency
//
// A Player decides in one goroutine and watches in four or five more. All of them have ended when
// Run returns. The callbacks of [Options] are called by the deciding goroutine only.
package player
