// Package ctrlruntime plays Stages in a program built on controller-runtime, with its manager,
// cache and client.
//
// # Terminology
//
// A [Cluster] is a client, or a manager, with the methods of stage/memory and stage/kube. It is a
// transport for package stage, and a cluster for kstatus/wait and staged.
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
// A program with its own reconcile loop can use a [Reconciler] for the objects of a kind. It needs
// no player, and handles one object at a time.
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
// A Cluster of a client lists with the client, and watches if the client is a client.WithWatch.
// Otherwise callers that need watches poll, or repeat their request.
//
// Selectors also work on caches and fake clients: labels, the fields metadata.name and
// metadata.namespace, and any other path of strings that an API server would accept. Impersonation
// needs a manager or [Cluster.Users].
//
// # Concurrency
//
// A Cluster and a Reconciler are safe for concurrent use.
package ctrlruntime
