// Package ctrlruntime plays Stages with what a program built on controller-runtime has: a manager,
// its cache and its client.
//
// # Terminology
//
// A [Cluster] is a client, or a manager, with the methods of stage/memory and stage/kube: it is a
// transport for package stage, and what kstatus/wait and staged read and write.
//
// # Usage
//
// In a manager, which starts the player when it is the leader:
//
//	p, err := ctrlruntime.Play(mgr, set, player.Options{})
//
// With a client, such as the fake one:
//
//	cluster := ctrlruntime.New(c)
//	err := player.Play(ctx, set, cluster, player.Options{})
//	err = wait.For(ctx, cluster, refs, wait.Policy{})
//
// Where there is a reconcile loop already, [Reconciler] is one for the objects of a kind: no
// player, one object at a time.
//
// # What is read from where
//
// The Cluster of a manager lists and watches its cache. The cache watches each kind once, for any
// number of players. Objects in the cache are *unstructured.Unstructured, whether the scheme knows
// their kind or not. They are shared and must not be changed. Get asks the API server, because a
// player asks after a conflict. An unknown kind is NotFound until it is defined. A kind that the
// server refuses to list is an error, where the cache itself would wait forever. A cache looks for
// a kind that was removed and defined again after up to a minute. A watch ends when the cache does.
//
// A Cluster of a client lists what the client lists, and watches if it is a client.WithWatch; else
// what asks for watches polls, or goes on asking.
//
// Selectors work on caches and fake clients too: labels, and the fields metadata.name,
// metadata.namespace and any other path of strings, as far as an API server would have them.
// Impersonation takes a manager or a [Cluster.Users].
//
// # Concurrency
//
// A Cluster and a Reconciler are safe for concurrent use.
package ctrlruntime
