// Package player plays the transitions of package stage on a cluster: it watches objects, waits
// until transitions are due, sends their effects, and retries what failed.
//
// # Terminology
//
//   - A Transport is a cluster: six requests in the types of apimachinery.
//   - A Player is a number of workers, each with an engine of package stage, around a Transport and
//     the clock.
//   - A transition is in flight while its effects are being sent.
//
// # Usage
//
// To play Stages on a cluster until the context ends:
//
//	set, err := stage.Compile(stage.Options{}, source)
//	…
//	err = player.Play(ctx, set, cluster, player.Options{Seed: 1})
//
// [Options.Select] limits what is watched and [Options.Filter] what is played; [Player.Use] swaps
// the Set while it plays. [Do] carries out a single transition, without a clock and without
// retries.
//
// # Transports
//
// A Transport returns a result or an error, never neither, and obeys its context: a request that
// hangs is given up after [Options.Timeout]. Objects carry a resourceVersion that grows.
//
// Errors of an API server (apimachinery's api/errors) say what to do. After a conflict the object
// is read again. Throttling, timeouts, 401 and 5xx are tried again. The rest is reported. An error
// of any other type is taken for a failure of the connection, and tried again. While nobody
// answers, a worker sends one request at a time with pauses of up to five seconds; when the server
// is back, all that is due is sent. A kind that does not exist is asked for every five seconds at
// most, and its objects are forgotten.
//
// # Determinism
//
// The draws are those of package stage: they do not depend on the number of workers. Pauses between
// retries are hashes, too, so that a run within a testing/synctest bubble repeats exactly.
//
// # Concurrency
//
// A Player is safe for concurrent use, and calls its Transport from several goroutines. Objects
// from a Transport are shared and never changed.
package player
