// Package timing says how long things take on a cluster, in virtual time: requests wait for the
// rate limit of their client, the API server takes a while to answer, and what happened is seen
// later by those who watch.
//
// # Terminology
//
// A [Client] is what one program sends its requests with; [Client.Send] says when a request takes
// effect. [Tasks] are functions that sleep in virtual time, for example until their request takes
// effect. A [View] is what one watcher has seen: events reach it late, and its position can be set.
//
// # Usage
//
// The three belong to whoever owns the clock: package reconcile uses them for controllers, package
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
// Latencies are hashes of the seed of their client and of the number of its request. Tasks go on in
// the order of the times until which they sleep, of equal times in that in which they fell asleep;
// one runs at a time.
//
// # Concurrency
//
// Nothing here may be used from several goroutines at once, except by the tasks themselves.
//
// # Compatibility
//
// The token bucket is that of client-go (flowcontrol.NewTokenBucketRateLimiter): full at the start,
// each request takes one token when it is made and waits until the token is there, first come,
// first served.
package timing
