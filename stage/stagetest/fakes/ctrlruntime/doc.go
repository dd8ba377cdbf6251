// Package ctrlruntime has a client of controller-runtime that reads and writes a cluster in memory: usually that of a lab, in which workload
// controllers and Stages answer.
//
// # Usage
//
//	lab := stagetest.New(t, stagetest.LabOptions{})
//	c := ctrlruntime.New(lab.Cluster(), ctrlruntime.Options{Scheme: scheme})
//
//	r := &WebsiteReconciler{Client: c}
//	_, err := r.Reconcile(ctx, req) // makes a Deployment
//	lab.WaitCurrent()
//	_, err = r.Reconcile(ctx, req) // sees it
//
// [Controller] has the lab call a reconciler, when what it watches changes and when it asks to be called again:
//
//	all := append(stagetest.Controllers(), ctrlruntime.Controller(r, websites, deployments))
//	lab := stagetest.New(t, stagetest.LabOptions{Controllers: all})
//
// # The fake client
//
// Tests that have controller-runtime's fake client keep it: [Funcs] sends what it is asked to the lab. Its WithObjectTracker would not do,
// because it puts a tracker of its own in front of each, which counts versions, keeps status apart, deletes and patches by itself and tells the
// one that is given of none of that: a write to the status arrives as a write to all, and versions are two truths. Interceptors
// (client/interceptor.NewClient) wrap both clients.
//
// # Compatibility
//
// Requests are answered as package stage/memory says, which is as an API server does. It is no cache: it reads what is there now. Field
// selectors are those that an API server has, and those of Options.Indexes. Subresources are status, and scale, eviction and binding of what
// has them.
//
// # Concurrency
//
// A client is safe for concurrent use, in a testing/synctest bubble too.
package ctrlruntime
