// Package shard shares the objects of a cluster among replicas of a program. Each object belongs to
// one of the running members, and the members coordinate only through Leases. Use it for
// player.Options.Filter.
//
// # Terminology
//
// A group is the processes that share the objects. Each process is a [Member]. Each member holds
// one Lease, named <group>.<identity>, with the label [GroupLabel].
//
// The owner of an object is the member with the highest hash of member and key (rendezvous
// hashing), see [Owner]. So the objects are spread evenly, and when a member joins or leaves, only
// its own share changes owners. A Pod that is bound to a Node has the key of the Node, because
// addresses of Pods come from the ranges of Nodes. Any other object has its own key, see [KeyOf].
//
// # Usage
//
//	member, err := shard.New(cluster, shard.Options{Group: "players", Identity: hostname})
//	p := player.New(set, cluster, player.Options{Filter: member.Owns})
//	go member.Run(ctx, p.Refilter)
//	err = p.Run(ctx)
//
// Replicas need the verbs list, create, update and delete on Leases of one namespace. All members
// of a group play the same Stages with the same seed. With package nodes, its Options.Owns is
// Member.Owns.
//
// # Who owns what, and when
//
// In each lease duration a member reads the Leases of its group fifteen times and renews its own
// three times. The following holds if all clocks run at the same rate; they may show different
// times:
//
//   - An object has at most one owner. A member that could not read and renew for four fifths of
//     the duration gives up its share, and joins again. The others take its share only when its
//     Lease has not changed for the whole duration.
//   - A member that joins owns nothing at first. It waits until all existing members have written
//     into their Leases that they saw it; each of them first gives up that part of its share. This
//     takes two reads, two seconds by default. Members that join later find its Lease.
//   - When a member crashes, others take its share after the duration and one read. When its Run
//     ends, it deletes its Lease, and others take its share at their next read.
//
// When an object changes owners, the new owner starts its delay again, like a restarted process.
// Nothing is lost, because all state is in the objects. A process that is stopped (SIGSTOP, a paused
// virtual machine) asks for its share before each request, and its share has ended when it goes on.
// However, one request may already be on its way, so that for a moment two members write:
//
//   - A patch or a deletion of the object itself has its uid and resourceVersion. Once the new owner
//     has changed the object, those of the old owner are refused, and change nothing.
//   - An Event, or another object that a Stage applies, has no such condition. Each can be sent once
//     more, by the old owner.
//   - A transition of several requests that is cut in the middle begins again with the new owner, with
//     its first request, as after a restart. A patch that appends then appends twice. Write such a
//     change into the last patch of the Stage.
//   - An address that render.Network gives to a Pod is unique among the Pods that the new owner has
//     seen. The player lists Pods before it plays a share that it got. However, a member can wait for an
//     answer, lose the object meanwhile, and get it back. It then sends the patch again as it was, and
//     another member can have given its address to another Pod.
//
// Two processes must not have the same identity: the second one waits until the first one has
// ended. A process that starts again after a crash, with its old identity, waits for one lease
// duration; if its Run had ended normally, it does not wait.
//
// # Determinism
//
// The owner of an object depends only on the names of the members and of the object. The random
// part of pauses depends on the identity.
//
// # Concurrency
//
// A Member is safe for concurrent use; Run must be called once.
package shard
