// Package memory is an API server in memory. It has the parts of Kubernetes that a simulator or a
// test needs, without a cluster, and it is deterministic.
//
// # Terminology
//
// A [Cluster] is a handle on a store. Handles differ in the user who writes, and in whether results
// are copies. A kind is a group, version and kind. A resource stores the objects of a kind; all
// versions of a custom kind share one resource. A [Feed] is a watch without a goroutine.
//
// # Usage
//
//	cluster := memory.New(memory.Options{})
//	err := cluster.Load(ctx, yaml) // definitions, namespaces, objects
//	list, err := cluster.List(ctx, pods, "", metav1.ListOptions{})
//	changes, err := cluster.Watch(ctx, pods, "", metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
//	defer changes.Stop()
//	for e := range changes.ResultChan() {
//		…
//	}
//
// Objects are *unstructured.Unstructured. Errors are the same as an API server's; tell them apart
// with the functions of apimachinery's api/errors.
//
// A Cluster supports:
//
//   - resourceVersion and optimistic locks, generation, uid and creationTimestamp
//   - the status subresource
//   - JSON, merge and strategic merge patches, and server-side apply
//   - finalizers and grace periods
//   - owner references, with deletion in the background, in the foreground, or orphaning
//   - terminating namespaces
//   - label and field selectors, pages, watches from a version, and dry runs
//   - definitions of custom resources
//   - Events that expire an hour after their last write: the next write, or the next read of
//     Events, removes them
//
// # Determinism
//
// The same calls in the same order give the same objects. A uid follows from Options.Seed, from the
// resource, namespace and name of the object, and from the number of earlier objects there. So uids
// do not depend on the order of creation. A generated name follows from the seed, the prefix, and
// the number of uses of the prefix. The cluster remembers at least the latest 8,192 removed objects
// of a resource, and as many prefixes. If more were removed, uids and names also depend on the
// earlier removals. Time is Options.Now.
//
// Garbage collection happens within the write that causes it, or, with Options.LateCollection, in
// calls of Cluster.Collect. Its order is the order of the causes. Dependents of one owner are
// ordered by group, resource, namespace and name.
//
// # Concurrency
//
// A Cluster is safe for concurrent use. Each write is atomic, including its consequences. Each
// watch has one goroutine, which ends with the watch. A [Feed] has no goroutine. Writers never wait
// for a watch or a Feed. Stored objects never change, so that handles made by [Cluster.Shared] can
// return the stored objects themselves.
//
// # Compatibility
//
// The scenarios of internal/dev/contract pass here and on a real kube-apiserver (internal/dev/e2e).
//
// A Cluster does not do these things that an API server does:
//
//   - Schemas: a Cluster has no defaults, no validation, and no pruning of unknown fields, unless
//     hooks (Cluster.Extend) add them. In package stage/lab, defaults and validation have hooks for
//     built-in kinds, definitions for custom kinds, and apiserver for webhooks and admission
//     policies. Without hooks for schemas, the trace has one warning for each definition with a
//     schema. The Cluster checks names, namespaces, labels, annotations, finalizers and uid. The
//     status of a new object has only its phase; an API server has {} or counts of zero. The only
//     check of a status is that no terminated container of a Pod runs again against its restart
//     policy.
//   - Admission and quotas: package stage/lab/controllers/admission has hooks for them.
//   - Authorization: a user is a name, shown to Options.Trace.
//   - Controllers, except for garbage collection, namespaces and definitions. A namespace need not
//     exist, unless Options.RequireNamespaces is set.
//   - Conversion: between versions of a custom kind only apiVersion changes, unless hooks have
//     Convert. Objects are stored in the storage version of their definition. Events of group "" and
//     of group events.k8s.io are different objects; package apiserver serves the Events of "" in
//     both groups.
//   - Subresources, except status, and binding, eviction and scale by Cluster.Bind, Cluster.Evict
//     and Cluster.Scale; DeleteCollection.
//   - Missing owners: an object whose owner never existed is kept, unless Options.RequireOwners is
//     set. An object whose owner is of an unknown kind is always kept; Kubernetes' collector tries
//     again until the kind is known.
//
// A Cluster does these things in a simpler way:
//
//	API server                                  here
//	managedFields from creation on              after Cluster.TrackFields. Otherwise from the first
//	                                            apply on; fields from before belong to
//	                                            before-first-apply
//	apply: list keys, atomic lists and maps     the same for built-in kinds and defined ones; in a
//	by schema                                   kind without a schema lists are atomic, maps are not
//	garbage collection, later, and emptying of  within the same write; with Options.LateCollection
//	namespaces, Pods first                      later, in steps
//	a definition is deleted: finalizers of its  they go at once
//	objects are waited for
package memory
