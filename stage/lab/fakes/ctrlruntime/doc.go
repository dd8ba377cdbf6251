// Package ctrlruntime has a client for controller-runtime that reads and writes a cluster in
// memory. This is usually the cluster of a lab, where workload controllers and Stages react.
//
// # Usage
//
//	lab := labtest.New(t, labtest.Options{})
//	c := ctrlruntime.New(lab.Cluster(), ctrlruntime.Options{Scheme: scheme})
//
//	r := &WebsiteReconciler{Client: c}
//	_, err := r.Reconcile(ctx, req) // makes a Deployment
//	lab.WaitCurrent()
//	_, err = r.Reconcile(ctx, req) // sees it
//
// [Controller] makes the lab call a reconciler when objects that it watches change, and when it
// asks to be called again:
//
//	lab := labtest.New(t, labtest.Options{Operator: func(cluster *memory.Cluster) []reconcile.Controller {
//		c := ctrlruntime.New(cluster, ctrlruntime.Options{Scheme: scheme})
//		return []reconcile.Controller{ctrlruntime.Controller(&WebsiteReconciler{Client: c}, websites, deployments)}
//	}})
//
// A hunt of package stage/lab/hunt crashes reconcilers, and makes their caches lag. [Client] and
// [APIReader] return the clients of its processes, and [Setup] runs SetupWithManager unchanged.
//
// # The fake client
//
// Tests can keep controller-runtime's fake client: [Funcs] sends its requests to the lab.
// WithObjectTracker is no alternative. The fake client wraps the given tracker in its own tracker,
// which implements versions, status, deletion and patches itself and passes none of them on. A
// write to the status arrives as a write to the whole object, and there are two resourceVersions.
// Interceptors (client/interceptor.NewClient) can wrap both clients.
//
// # Compatibility
//
// Package stage/memory answers the requests as an API server does. The client has no cache: it
// reads the current objects. Field selectors are those of an API server and those of
// Options.Indexes. Subresources are status for all kinds, and scale, eviction and binding for the
// kinds that have them.
//
// # Concurrency
//
// A client is safe for concurrent use, also in a testing/synctest bubble.
package ctrlruntime
