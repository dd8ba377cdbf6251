// Package nodes manages Nodes as kwok's users know it: it says which Nodes are ours, keeps their
// heartbeats by Leases, and which Pods are ours to play. It is for player.Options.Filter.
//
// # Terminology
//
// A [Policy] says which Nodes are managed; [Policy.Compile] makes [Rules] of it, which are pure. A
// [LeaseHolder] follows the Nodes of a cluster and holds the Leases of those that are managed. An
// object is ours if we play it:
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
// A Pod on a Node that does not exist is not made to run: there is nothing it could run on. But
// when it is deleted it waits for a kubelet that will never come, so that its deletion is played.
// Whether the Node was managed is known for a policy of names or of all; else the latest 10,000
// Nodes that vanished while the lease holder looked are remembered. What remains is left to the
// garbage collector of Kubernetes.
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
// A Lease in kube-node-lease named as its Node is created, owned by the Node, and renewed after a
// quarter of its duration. Nodes with Leases need the Stage of presets.NodeHeartbeatWithLease,
// which writes their status every ten minutes; without Leases presets.NodeHeartbeat does, every 20
// to 25 seconds.
//
// A Lease that another holder keeps is left alone, and so are the Node and its Pods, until it has
// not changed for its duration, or names no holder. A Lease of ours that could not be renewed for
// its duration is not ours any more.
//
// There is one queue for all Nodes, by the time of their next renewal, and Lease.Parallel
// goroutines; Leases are not watched. It takes the verbs get, create and update on Leases, list and
// watch on Nodes.
//
// # Determinism
//
// Rules depend on the object alone. Jitter is drawn from the identity.
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
