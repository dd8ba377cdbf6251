// Package nodes manages Nodes as kwok does. It decides which Nodes and which Pods this program
// plays. It renews the Leases of the Nodes, which are their heartbeats. Use it for
// player.Options.Filter.
//
// # Terminology
//
// A [Policy] says which Nodes are managed; [Policy.Compile] turns it into [Rules], which are pure
// functions. A [LeaseHolder] follows the Nodes of a cluster and holds the Leases of managed Nodes.
// An object is ours if we play it:
//
//	object                                         ours
//	---------------------------------------------------------------------------------------------------------------
//	a Node that is managed                         yes; with Leases: while we hold its Lease
//	a Pod on such a Node                           the same
//	a Pod on a Node that is not managed            no: a kubelet has it
//	a Pod that is bound to no Node                 no: no kubelet has it yet
//	a Pod on a Node that does not exist            only if it is being deleted, and the Node is one we would manage
//	an object that is disregarded                  no; nor are the Pods on a Node that is
//	any other object                               yes
//
// A Pod on a Node that does not exist is never started. But its deletion is played, because no
// kubelet would ever end such a Pod. The policy says whether the missing Node was managed if it
// manages all Nodes, or Nodes by name. Otherwise the lease holder remembers the latest 10,000 Nodes
// that were deleted while it ran. Kubernetes' garbage collector deletes the other Pods.
//
// # Usage
//
//	holder, err := nodes.New(cluster, nodes.Options{
//		Policy: nodes.Policy{Labels: "type=fake"},
//		Lease:  nodes.Lease{Identity: hostname},
//	})
//	p := player.New(set, cluster, player.Options{Filter: holder.Plays, Select: holder.Rules().Select()})
//	go holder.Run(ctx, p.Refilter)
//	err = p.Run(ctx)
//
// With replicas (package shard), which all have the same Lease.Identity:
//
//	holder, err := nodes.New(cluster, nodes.Options{Owns: member.Owns, Lease: nodes.Lease{Identity: group}})
//	go member.Run(ctx, func() { holder.Refilter(); p.Refilter() })
//	go holder.Run(ctx, p.Refilter)
//
// # Leases
//
// The lease holder creates a Lease for each Node, in the namespace kube-node-lease and with the
// name of the Node, which owns it. It renews the Lease after a quarter of its duration. Nodes with
// Leases need the Stage of presets.NodeHeartbeatWithLease, which writes their status every ten
// minutes; without Leases presets.NodeHeartbeat does, every 20 to 25 seconds.
//
// As long as another holder renews a Lease, that Node and its Pods are not played. The Lease is
// free when it has not changed for its duration, or names no holder. If the lease holder cannot
// renew a Lease within its duration, it no longer holds it.
//
// There is one queue for all Nodes, ordered by the time of their next renewal, and Lease.Parallel
// goroutines; Leases are not watched. The user needs the verbs get, create and update on Leases,
// list and watch on Nodes.
//
// # Determinism
//
// Rules depend only on the object. The random part of the renewal times depends on the identity.
//
// # Concurrency
//
// Rules are immutable, a LeaseHolder is safe for concurrent use.
//
// # Compatibility
//
// As kwok v0.8, except:
//
//	kwok                                                  | here                                        | test
//	------------------------------------------------------+---------------------------------------------+------------------------------
//	nothing is managed unless it is asked for             | the zero Policy manages all Nodes           | TestPolicy
//	one Node by name                                      | any number of names                         | TestPolicy
//	an object without labels is never disregarded         | selectors are asked: !managed matches it    | TestDisregard
//	Pods on missing Nodes are stuck when they are deleted | their deletion is played                    | TestPodsOfNodesThatVanished
//	a holder lives by the time stamps of its clock        | by when its Lease was last seen to change   | TestALeaseOfSomebodyElse
//	a Lease is ours until somebody takes it               | and no longer than its duration             | TestALeaseThatCannotBeRenewed
//	renewals of Nodes that came together stay together    | the first one is spread over the quarter    | TestRenewalsAreSpread
package nodes
