// Package timing models in virtual time how long requests take on a cluster. Requests wait for the
// rate limit of their client, the API server needs time for an answer, and watchers see events
// late.
//
// # Terminology
//
// A [Client] sends the requests of one program; [Client.Send] says when a request takes effect.
// [Tasks] are functions that sleep in virtual time, for example until their request takes effect. A
// [View] is the state of one watcher: events reach it late, and a test can set its position.
//
// # Usage
//
// The owner of the clock uses the three types: package reconcile for controllers, package
// simulation for kubelets.
//
//	client := timing.NewClient(timing.Limits{QPS: 20, Burst: 30}, timing.Latency{}, 1)
//	tasks.Start(now, func() {
//		err := tasks.Sleep(client.Send(tasks.Now(), timing.Create))
//		…                                     // the request takes effect
//	})
//	for at, ok := tasks.Next(); ok; at, ok = tasks.Next() {
//		tasks.Resume(at)
//	}
//
// # Determinism
//
// A latency is a hash of the seed of the client and the number of its request. Only one task runs
// at a time. Tasks wake up in the order of their wake-up times; equal times in the order in which
// they began to sleep.
//
// # Concurrency
//
// Nothing here may be used from several goroutines at once, except by the tasks themselves.
//
// # Compatibility
//
// The token bucket is the same as client-go's (flowcontrol.NewTokenBucketRateLimiter). It is full
// at the start. Each request takes one token, and waits until the token is available, first come,
// first served.
package timing
