// Package bindingpolicy places workloads through KubeStellar: it makes a BindingPolicy of each
// placement of package staged, and reads from BindingPolicies, Bindings and CombinedStatuses what
// the world of a policy looks like. It is pure.
//
// # Terminology
//
//   - K0 is what the hub alone shows: no object there says which content was delivered to a cluster.
//     The identity of a revision is then that of the resourceVersions in the Bindings, a Binding
//     stands for the delivery, and the evidence is None.
//   - K1 is what is known with access to the space of the transport: package player reads
//     ManifestWorks and WorkStatuses there, and shows them to a [Rollout] with ObserveWorkload and
//     ObserveCluster.
//
// # Usage
//
//	rollout := bindingpolicy.NewRollout(policy)
//	rollout.Update(policy, stored.ObjectMeta)
//	rollout.ObserveBinding(binding) // and whatever else has changed
//	d := rollout.Decide(stored.Status, time.Now())
//	// write d.Status; then create or update d.Ensure; then delete d.Remove; decide again after d.RecheckAfter
//
// # Concurrency
//
// A Rollout must not be used from several goroutines at once. It keeps the objects that it is shown,
// and does not change them.
package bindingpolicy
