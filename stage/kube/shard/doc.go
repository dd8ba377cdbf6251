// Package shard shares the objects of a cluster among replicas of a program: each object belongs to
// one of the members that live, and Kubernetes is the only coordinator. It is for
// player.Options.Filter.
//
// # Terminology
//
// A group is what shares the work, a [Member] one process of it. Each member holds one Lease, named
// <group>.<identity>, with the label [GroupLabel]. The owner of an object is the member with the
// highest hash of member and key (rendezvous hashing), see [Owner]: the objects are spread evenly,
// and a member that comes or goes takes or leaves only its own share. The key of a Pod that is
// bound is that of its Node, because addresses of Pods come from the ranges of Nodes; that of
// anything else is its own, see [KeyOf].
//
// # Usage
//
//	member, err := shard.New(cluster, shard.Options{Group: "players", Identity: hostname})
//	p := player.New(set, cluster, player.Options{Filter: member.Owns})
//	go member.Run(ctx, p.Refilter)
//	err = p.Run(ctx)
//
// Replicas need the verbs list, create, update and delete on Leases of one namespace. All of a
// group play the same Stages with the same seed. With package nodes, its Options.Owns is
// Member.Owns.
//
// # Who owns what, and when
//
// A member looks at the Leases of its group each fifteenth of the lease duration and renews its own
// each third. Then, as long as clocks run at the same rate, whatever they show:
//
//   - An object has at most one owner. A member that could not look and renew for four fifths of
//     the duration stops owning before the others, who wait for the whole of it without a change of
//     its Lease, take its share. After that it joins anew.
//   - One that joins owns nothing until all who were there before it have written into their Leases
//     that they saw it: they give up its share first. That takes two looks, two seconds by default.
//     Those who come later find it there.
//   - One that dies hands over after the duration and a look. One whose Run ends deletes its Lease,
//     and hands over at the next look.
//
// What was under way when an object changed hands is begun anew by the new owner: a delay starts
// again, as it does when a process starts again. Nothing is lost, because state is in the objects
// alone. A request that was already sent meets the conditions on uid and resourceVersion that a
// player.Player sends with it: the object does not change twice.
//
// Two processes with the same identity are no group: the one that comes later waits for the end of
// the other. The same holds for a process that starts again after a crash under its old identity,
// for one lease duration; one that ended with its Run is not waited for.
//
// # Determinism
//
// Owners depend on the names of members and objects only, jitter on the identity.
//
// # Concurrency
//
// A Member is safe for concurrent use; it is run once.
package shard
