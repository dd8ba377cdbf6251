// Package reconcile runs controllers on a clock that somebody else owns: it holds what they read,
// knows which keys they have to look at and when, and calls them one at a time. It is for
// controllers what stage.Engine is for Stages.
//
// # Terminology
//
// A [Controller] brings the objects of one kind in line with what they ask for. A key is a name of
// that kind. A [Loop] has a queue of keys and a [Cache] of all that its controllers watch; a change
// of an object puts keys into the queue.
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
// Package stage/simulation runs it in virtual time (Options.Controllers), [Play] in real time on
// any transport. Both do this:
//
//	loop := reconcile.NewLoop(cluster, reconcile.Options{}, greeter)
//	for {
//		…                                             // loop.Observe(event, now) for all events of loop.Kinds()
//		at, ok := loop.NextDue()
//		now = at                                      // or wait until then
//		loop.Step(ctx, now)
//	}
//
// What a controller wrote is in the cache before it is called again, although the watch may report
// it much later. So it never takes its own creations for missing, and does not have to remember
// what it expects to see, as the expectations of kube-controller-manager do.
//
// With [Options.Timing] reconciles take time: they wait for their requests, overlap where a
// controller has several workers, and the Step that begins one is not the one that ends it. A
// controller that keeps a state of its own has to expect at each of its requests that others have
// acted. [Loop.View] sets what the loop has seen of a kind, with and without a Timing.
//
// # Determinism
//
// Keys are taken in the order of their due times, of equal times in that in which they were put
// into the queue. A key stands in the queue once. Lists of the cache are ordered by namespace and
// name. The same events and the same controllers give the same writes.
//
// # Concurrency
//
// A Loop and its Cache must not be used from several goroutines at once; controllers need no locks.
// Objects of the cache are shared and must not be changed.
package reconcile
