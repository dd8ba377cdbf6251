// Package histories plays random histories of a player whose cluster cannot be reached reliably, and
// checks that each effect is carried out exactly once and in order, and that nothing stalls.
//
// A history runs in a testing/synctest bubble. Pods go through six Stages. Each has an Event, a patch
// that appends to an annotation, a ConfigMap that is applied, and a patch of the status that counts and
// appends: carried out twice, any of them shows. Meanwhile users change, delete and create Pods again, and
// the Set is replaced. Faults strike until a moment; a few minutes later all must be as without them.
//
// Package histories itself plays over stage/memory, with faults between player and cluster. In
// internal/dev/e2e the same histories are played over HTTP and client-go.
package histories
