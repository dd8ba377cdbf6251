// Package reconcile runs controllers on the clock of its caller, virtual or real. It keeps a cache
// of the objects that controllers read, decides which keys they must reconcile and when, and calls
// one controller at a time. It does for controllers what stage.Engine does for Stages.
//
// # Terminology
//
// A [Controller] brings the cluster in line with the spec of the objects of one kind. A key is the
// name of an object of this kind. A [Loop] has a queue of keys, and a [Cache] of the objects that
// its controllers watch. A change of an object puts keys into the queue.
//
// # Usage
//
// A controller is a value with a function:
//
//	greeter := reconcile.Controller{
//		Name: "greeter",
//		For:  trains,
//		Watches: []reconcile.Watch{{Kind: configMaps}}, // those that a train owns
//		Reconcile: func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
//			train := r.Cache.Get(trains, r.Name)
//			if train == nil || len(r.Cache.Owned(configMaps, train.GetUID())) > 0 {
//				return reconcile.Result{}, nil
//			}
//			_, err := r.Client.Create(ctx, greeting(train), metav1.CreateOptions{})
//			return reconcile.Result{}, err
//		},
//	}
//
// Package stage/simulation runs controllers in virtual time (Options.Controllers). [Play] runs them
// in real time on any transport. Both do this:
//
//	loop := reconcile.NewLoop(cluster, reconcile.Options{}, greeter)
//	for {
//		…                                             // loop.Observe(event, now) for all events of loop.Kinds()
//		at, ok := loop.NextDue()
//		now = at                                      // or wait until then
//		loop.Step(ctx, now)
//	}
//
// The writes of a controller are in the cache before its next call, although the watch can report
// them much later. So a controller never treats its own new objects as missing. It does not need
// the expectations of kube-controller-manager, which remember the writes that a controller has not
// yet seen.
//
// With [Options.Timing] reconciles take time: they wait for their requests, and overlap if a
// controller has several workers. One Step begins a reconcile, and a later Step ends it. A
// controller with its own state must expect that other reconciles run during each of its requests.
// [Loop.View] sets which events of a kind the loop has seen, with and without a Timing.
//
// # Determinism
//
// Keys are reconciled in the order of their due times; equal times in the order in which they
// entered the queue. A key is in the queue at most once. Lists of the cache are ordered by
// namespace and name. The same events and the same controllers give the same writes.
//
// # Concurrency
//
// A Loop and its Cache must not be used from several goroutines at once; controllers need no locks.
// Objects of the cache are shared and must not be changed.
package reconcile
