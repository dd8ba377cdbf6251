// Package listwatch follows the objects of one kind in a cluster: it lists them page by page, watches from there, goes on after watches that
// end, and lists again when it has fallen too far behind. It is what stage, stage/reconcile, staged and kstatus/wait look at a cluster through.
//
// # Terminology
//
//   - A [Source] is what is followed: the objects of a kind in a place.
//   - An [Event] is something that was seen of it: an object, the end of one, the begin and end of a list, a failure.
//   - [Objects] are those that are there, as the events tell. They find what went away unseen, by comparing lists.
//
// # Failures
//
// No failure ends [Run]. What it does about each:
//
//	what fails                            | it rests for                              | and then
//	--------------------------------------+-------------------------------------------+---------------------------------
//	a list                                | a pause that doubles with each failure    | lists again
//	a list of a kind that does not exist  | the same, but five seconds at most        | lists again
//	a list whose pages expired            | the same                                  | lists in one page
//	a watch whose version is too old      | the same                                  | lists
//	a watch that is refused               | the same, or as long as the server asks   | lists
//	a watch, by the connection or a 429   | the same, or as long as the server asks   | watches on; the second time, lists
//	a watch that ends after it told       | not at all; a pause if it is soon again   | watches on
//	a watch that ends late                | not at all                                | watches on
//	a watch that ends soon, untold        | a pause that doubles                      | watches on; the second time, lists
//	a kind that cannot be watched         | [Options].Poll, if that is set            | lists, from then on
//
// A young API server closes the watches of those that cannot keep up, again and again, after a few events each. What it has to tell must not
// wait long then, nor may it be asked without pause: from the begin of one such watch to that of the next there is a sixteenth of
// [Options].Retry, then an eighth, then a quarter.
//
// # Determinism
//
// The jitter of the pauses is drawn from [Options].Seed and the source. Lists are told in the order of the server, what is gone in that of its
// names.
//
// # Concurrency
//
// Run works in the goroutine that calls it, and so do the functions that it is given.
package listwatch
