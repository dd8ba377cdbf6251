// Package memory is an API server in memory. It does what a simulator or a test needs of
// Kubernetes, without a cluster and deterministically.
//
// # Terminology
//
// A [Cluster] is a handle on a store; handles differ in the user that writes and in
// whether results are copies. A kind is a group, version and kind; its objects are held
// by the resource, which all versions of a custom kind share.
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
// Objects are *unstructured.Unstructured. Errors are those of an API server; use the functions of
// apimachinery's api/errors to tell them apart.
//
// What it does: resourceVersion and optimistic locks; generation; uid and
// creationTimestamp; the status subresource; JSON, merge and strategic merge patches;
// server-side apply; finalizers and grace periods; owner references, in the background,
// foreground or orphaning; terminating namespaces; label and field selectors; pages;
// watches from a version; dry runs; definitions of custom resources. An Event goes an hour after its
// last write, with the next write or read of Events.
//
// # Determinism
//
// The same calls in the same order give the same objects: uids are derived from
// Options.Seed, the place of an object and how many were there before, so they do not
// depend on the order of creation; generated names from the seed, the prefix and its
// uses. For these the latest 8,192 removed objects of a resource, or more, and as many prefixes are
// remembered; if more were removed, uids and names depend on what was removed before, too. Time is Options.Now. Garbage collection happens within the write that calls for it, or, with
// Options.LateCollection, in calls of Cluster.Collect: in the order of what calls for it, and
// dependents of one owner in the order of group, resource, namespace and name.
//
// # Concurrency
//
// A Cluster is safe for concurrent use. Each write is atomic, with all that follows from
// it. Each watch has one goroutine, which ends with it, a [Feed] has none; writers never
// wait for either.
// Stored objects never change, so that handles made by [Cluster.Shared] can pass them
// on as they are.
//
// # Compatibility
//
// The scenarios of internal/dev/contract pass here and on a real kube-apiserver (internal/dev/e2e).
//
// What an API server does and this does not:
//
//   - Schemas: no defaults, no validation, no pruning of unknown fields, unless hooks do it
//     (Cluster.Extend): those of packages defaults and validation for built-in kinds, and of package
//     definitions for custom kinds, as in a lab; those of package stage/lab/apiserver for webhooks and
//     admission policies, too. Without hooks for the schemas of definitions, the trace has a warning
//     once for each definition that has one. Names,
//     namespaces, labels, annotations, finalizers and uid are checked. A new object has
//     no status but its phase, where that of an API server is {} or counts of zero. Of a status
//     only this is checked: that no container of a Pod runs again, after it has terminated, where
//     its restart policy forbids it.
//   - Admission and quotas: package stage/lab/controllers/admission has hooks for them.
//   - Authorization: a user is a name, shown to Options.Trace.
//   - Controllers, other than those of garbage collection, namespaces and definitions.
//     A namespace need not exist unless Options.RequireNamespaces says so.
//   - Conversion: between versions of a custom kind only apiVersion changes. Events of
//     "" and of events.k8s.io are different objects; package apiserver serves those of "" in both.
//   - Subresources other than status and those of Cluster.Bind, Cluster.Evict and Cluster.Scale;
//     DeleteCollection.
//   - An object whose owner was never there is kept, unless Options.RequireOwners. One whose owner
//     is of an unknown kind is kept even then; the collector of Kubernetes tries again until the
//     kind is known.
//
// What it does in a simpler way:
//
//	API server                                  here
//	managedFields from creation on              after Cluster.TrackFields. Otherwise from the first
//	                                            apply on; what was there before belongs to
//	                                            before-first-apply
//	apply: list keys, atomic lists and maps     the same for built-in kinds and defined ones; in a
//	by schema                                   kind without a schema lists are atomic, maps are not
//	garbage collection, later, and emptying of  within the same write; with Options.LateCollection
//	namespaces, Pods first                      later, in steps
//	a definition is deleted: finalizers of its  they go at once
//	objects are waited for
package memory
