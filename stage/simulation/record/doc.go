// Package record keeps what happens to objects: an append-only log of their states, with the Stages that moved them, made from watch events.
// Package measure computes metrics of it.
//
// # Terminology
//
// A state is what an object is found in: a Pod is Pending, Scheduled, Running. A [Record] says that an object went from one state to
// another, or that a Stage was played on it that left the state as it was. A [Recorder] makes records, a [Log] holds them. The seed path of
// a record says what decided the draws of the Stage: seed, kind, namespace, name, number of the entry, Stage. With it and the same Set a
// transition can be made again without the rest of the run.
//
// # Usage
//
// In virtual time:
//
//	var log record.Log
//	recorder := record.New(record.Options{Seed: 1, Sink: log.Append})
//	sim, err := simulation.New(set, simulation.Options{Seed: 1, Trace: recorder.Trace})
//	err = recorder.Follow(sim, pods, jobs, nodes)
//	err = sim.Advance(ctx, time.Hour)
//
// With another Sink the log goes to a file at once and needs no memory:
//
//	out := record.NewJSONLWriter(file) // or NewCSVWriter
//	recorder := record.New(record.Options{Sink: out.Write})
//	…
//	err = out.Flush()
//
// On a real cluster, for which watch events are enough:
//
//	recorder := record.New(record.Options{Sink: out.Write})
//	for {
//		…                                                    // list the Pods, and watch from there on
//		err := recorder.Sync(pods, list.Items, time.Now())   // so that nothing is missed if the watch broke off
//		for e := range watcher.ResultChan() {
//			err := recorder.Observe(e, time.Now())       // an error: list again
//		}
//	}
//
// What is there already when that begins is recorded as new then. A stage.Player there has the recorder's Trace, too, and Options.Within
// says how late the watch may be.
//
// # States
//
// They are named by [StateOf]. Options.States has others for kinds of one's own.
//
//	Pod          Pending, Scheduled (it has a node), Running, Ready, Succeeded, Failed, Terminating, Deleted
//	Job.batch    Pending, Suspended, Running (it has a start time), Complete, Failed, Terminating, Deleted
//	Node         NotReady, Ready, Terminating, Deleted
//	others       status.phase, or Ready and NotReady by their condition, or Present; Terminating, Deleted
//
// What has ended does not become Terminating. A state that lasts no time is there all the same if the watch shows it.
//
// # Format
//
// A line for each record, of JSON or CSV, in the order in which the recorder saw it; CSV has a first line with the names. Fields without a
// value are left out of JSON, and empty in CSV, where amounts are cpu=0.5;memory=1e+09.
//
//	ns          time in nanoseconds since 1970
//	kind        Kind.group, as Pod or Job.batch
//	namespace   of the object
//	name        of the object
//	uid         of the object
//	from        the state before; none if the object is new
//	stage       the Stage that was played; none if somebody else moved the object
//	to          the state after
//	seed        the seed path, if there is a Stage
//	owner       its controller, as Job.batch/name
//	node        of a Pod
//	amounts     what a Pod requests or a Node has; only where it is new or has changed
//
// # Determinism
//
// The same run gives the same log, byte for byte. On a real cluster times are those given to Observe.
//
// # Concurrency
//
// A Recorder is safe for concurrent use; it calls its Sink from one goroutine at a time. Writers and Logs must not be used from several
// goroutines at once.
package record
