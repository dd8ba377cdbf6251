// Package listwatch lists and watches the objects of one kind, as the Reflector of client-go does:
// it lists them page by page, watches from there, opens a watch that ended again, and lists again
// when the watch has fallen too far behind. stage/player, stage/reconcile, staged and kstatus/wait
// observe a cluster through it.
//
// # Terminology
//
//   - A [Source] is the objects of a kind in a namespace, which are listed and watched.
//   - An [Event] is one observation: an object, its deletion, the start or end of a list, or a
//     failure.
//   - [Objects] are the objects that exist according to the events. They compare lists to find
//     deletions that no watch reported.
//
// # Failures
//
// No failure ends [Run]. Run handles each failure as follows:
//
//	what fails                            | it waits for                              | and then
//	--------------------------------------+-------------------------------------------+---------------------------------
//	a list                                | a backoff that doubles with each failure  | lists again
//	a list of a kind that does not exist  | the same, but five seconds at most        | lists again
//	a list whose pages expired            | the same                                  | lists in one page
//	a list older than what was seen       | the same                                  | lists; the fifth time, believes it
//	a watch whose version is too old      | the same                                  | lists
//	a watch that is refused               | the same, or as long as the server asks   | lists
//	a watch, by the connection or a 429   | the same, or as long as the server asks   | watches on; the second time, lists
//	a watch that ends after an event      | not at all; shortly if it ends soon again | watches on
//	a watch that ends late                | not at all                                | watches on
//	a watch that ends soon, without event | a backoff that doubles                    | watches on; the second time, lists
//	a kind that cannot be watched         | [Options].Poll, if that is set            | lists, from then on
//
// An API server that has just started repeatedly closes the watches of slow clients, after a few
// events each. Run must not delay these events for long, and must not send requests without a
// pause. So the time between the starts of two such watches is a sixteenth of [Options].Retry, then
// an eighth, then a quarter.
//
// # Determinism
//
// The jitter of the backoff is drawn from [Options].Seed and the source. The objects of a list are
// reported in the order of the server, deletions in the order of their names.
//
// # Concurrency
//
// Run works in the goroutine that calls it, and calls its functions there.
package listwatch
