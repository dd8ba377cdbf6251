// Package player plays the transitions of package stage on a cluster. It watches objects, waits
// until transitions are due, sends their effects, and retries failed requests.
//
// # Terminology
//
//   - A Transport is a cluster: six requests in the types of apimachinery.
//   - A Player connects a Transport and the clock to a number of workers. Each worker has a
//     stage.Engine.
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
// [Options.Select] limits the watched objects, and [Options.Filter] the played ones. [Player.Use]
// replaces the Set while the Player runs. [Do] plays a single transition, without a clock and
// without retries.
//
// # Transports
//
// A Transport always returns a result or an error, and obeys its context: the Player gives up a
// request after [Options.Timeout]. Objects have a resourceVersion that grows.
//
// The Player decides by the errors of an API server (apimachinery's api/errors):
//
//   - After a conflict it reads the object again.
//   - After throttling, timeouts, 401 and 5xx it tries again.
//   - It reports all other errors of an API server, and does not try again.
//   - An error of any other type counts as a failure of the connection, and the Player tries again.
//
// # Effects exactly once
//
// Each effect is carried out once, also if answers are lost, requests arrive late, a proxy sends them
// twice, and watches are late, incomplete or repeat themselves (internal/dev/histories):
//
//   - A patch requires the version of the object that it is for. After a conflict the Player compares
//     the object with what the patch would have made of it. If it has the changes, the patch is not sent
//     again. It does not matter who made them: two programs that count in the same field can lose a count.
//   - An Event has a name that a retry repeats. A deletion names the uid of the object.
//   - A state that is older than the known one counts for nothing, and a list older than what the watch
//     reported is read again. A list that is older five times in a row comes from a cluster that was
//     restored from a backup, and is believed.
//
// A transition that is in flight when the program ends is begun again by the next one. An apply of
// another object requires no version, so it can arrive after a later one.
//
// While no server answers, a worker sends one request at a time, with pauses of up to five seconds.
// When the server is back, the worker sends everything that is due. The Player requests an unknown
// kind at most every five seconds, and forgets its objects.
//
// # Determinism
//
// Package stage makes the draws; they do not depend on the number of workers. Pauses between
// retries are also hashes, so that a run within a testing/synctest bubble repeats exactly.
//
// # Concurrency
//
// A Player is safe for concurrent use, and calls its Transport from several goroutines. It shares
// objects from a Transport and never changes them.
package player
