// Package record keeps an append-only log of what happens to objects: their states, and the Stages
// that changed them. It makes the log from watch events. Package measure computes metrics of the
// log.
//
// # Terminology
//
// A state is a name for the condition of an object: a Pod is Pending, Scheduled or Running. A
// [Record] says that an object changed from one state to another, or that a played Stage left the
// state as it was. A [Recorder] makes records, a [Log] holds them.
//
// The seed path of a record determines the random draws of the Stage: seed, kind, namespace, name,
// number of the entry, Stage. To repeat a transition without the rest of the run, use the seed
// path, the uid, the same Set, and the age of the object when it was first observed. The age is 0
// in a simulation that created the object.
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
// To write the log to a file at once, without keeping it in memory, use another Sink:
//
//	out := record.NewJSONLWriter(file) // or NewCSVWriter
//	recorder := record.New(record.Options{Sink: out.Write})
//	…
//	err = out.Flush()
//
// On a real cluster, until ctx is done:
//
//	recorder := record.New(record.Options{Sink: out.Write, WatchDelay: 10 * time.Second})
//	err := recorder.Watch(ctx, cluster, nil, pods, jobs, nodes) // package kube has the cluster of a kubeconfig
//
// Code with watches of another kind calls Sync for a list of all objects, before a watch and after one that
// broke off, and Observe for each watch event.
//
// Objects that exist at the beginning are recorded as new at that time. A player there also has the
// recorder's Trace, and Options.WatchDelay says how late watch events may be.
//
// # States
//
// [StateOf] names the state of an object. Options.States replaces it for some kinds.
//
//	Pod          Pending, Scheduled (it has a node), Running, Ready, Succeeded, Failed, Terminating, Deleted
//	Job.batch    Pending, Suspended, Running (it has a start time), Complete, Failed, Terminating, Deleted
//	Node         NotReady, Ready, Terminating, Deleted
//	others       status.phase, or Ready and NotReady by their condition, or Present; Terminating, Deleted
//
// An object that has ended does not become Terminating. A state that lasts no time is recorded if
// the watch reports it.
//
// # Format
//
// The log has one line of JSON or CSV for each record, in the order in which the recorder made
// them. The first line of CSV is a header. Fields without a value are left out in JSON and empty in
// CSV. In CSV, amounts are written as cpu=0.5;memory=1e+09.
//
//	ns          time in nanoseconds since 1970
//	kind        Kind.group, such as Pod or Job.batch
//	namespace   of the object
//	name        of the object
//	uid         of the object
//	from        the state before; none if the object is new
//	stage       the Stage that was played; none if something else changed the object
//	to          the state after
//	seed        the seed path, if there is a Stage
//	owner       its controller, such as Job.batch/name
//	node        of a Pod
//	amounts     what a Pod requests or a Node has; only where it is new or has changed
//
// # Determinism
//
// The same run gives the same log, byte for byte. On a real cluster, the times are the arguments of
// Observe.
//
// # Concurrency
//
// A Recorder is safe for concurrent use; it calls its Sink from one goroutine at a time. Writers
// and Logs must not be used from several goroutines at once.
package record
