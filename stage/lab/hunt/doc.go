// Package hunt looks for the faults that break a controller: it crashes it at every write, loses
// answers, refuses requests, lets its caches lag, has users act at the worst moment, and compares
// where each run ends with a run without such faults. All happens in a lab of package labtest, in
// process and in virtual time, and can be played again byte for byte.
//
// # Terminology
//
// A run is one life of a cluster in memory: users apply objects, a [Process] with the controllers
// under test reacts, and at the end the run is judged. A [Fault] is one thing that goes wrong in a run, or
// that somebody does at a bad moment. It strikes, that is, it happens, at a [Site]: the n-th write of one kind
// for one key, or the n-th event of an object that a process sees. A [Plan] is a seed and a list
// of faults. It names sites, not times, so that it stays valid when other faults are taken out of it.
// The twin of a run is the run that it is compared with. It has the same seed, the same users and the same
// deletions, each while nothing else happens, and no faults of processes. The precious kinds
// (Options.Precious) are compared also by number: one object more than in the twin, made or deleted, is a
// finding. A [Finding] is what a check says of a run.
//
// # Usage
//
//	func TestSurvivesEverything(t *testing.T) {
//		hunt.Test(t, hunt.Options{Runs: 2000}, func(r *hunt.Run) {
//			r.Process("operator", func(p *hunt.Process) []reconcile.Controller {
//				c := ctrlruntime.Client(p, ctrlruntime.Options{Scheme: scheme})
//				return []reconcile.Controller{ctrlruntime.Controller(&WebsiteReconciler{Client: c}, websites, deployments)}
//			})
//			r.Apply(site)
//			r.At(5*time.Minute, "scale", func(u *hunt.User) error { return u.Patch(websites, "default/a", `{"spec":{"replicas":2}}`) })
//			r.Eventually("ready", isReady)
//		})
//	}
//
// The scenario is called for each run, and the function of a process again after each crash: what
// the controllers remember must be made there. No check has to be written to begin. By default
//
//   - no reconcile panics, and no key is reconciled without end while time stands still;
//   - the run ends in the state in which its twin ends;
//   - writes and errors cease, and controllers that start again over the final state write nothing;
//   - without faults nothing is made for an owner that is gone;
//   - no more objects are made or deleted of the kinds of Options.Precious than by the twin;
//   - when the users delete what they applied, it goes, and nothing stays that was not there before,
//     except the kinds of Options.Keeps;
//   - no controller changes an object of a cache.
//
// What the operator finds, such as a namespace with its configuration, belongs into
// Options.Lab.Objects: the users neither delete nor change it, and it may stay at the end.
//
// [Run.Replicas] adds several processes with leader election: leaders crash, pause and act after they
// have lost the lease, or two lead for a while. The lease is not an object of the cluster, and a
// replica that waits has no controllers. Whole managers are hunted by package stage/lab/apiserver/hunting.
//
// # What a finding means
//
// The run can happen on a cluster: a crash is a kill -9, a lag a slow watch, a lost answer a broken
// connection, a refusal an API server that is busy. A finding repeats byte for byte with its plan,
// and its twin does not have it; what the run without faults has is reported as such, first and at
// once. Faults are taken out of the plan for as long as the same check fails about the same kind, so
// that each fault that is left is needed. The story prints the writes of the controllers, repeated ones
// once, and marks the first one that is one too many: more were done of its kind, for its object, than
// by the twin, and the twin has none left that wrote the same. Where it ends differently, the difference is printed,
// and what the twin did from its first write on that is missing in the run. The plan is kept in testdata/hunt and the name of the test. To look into it:
//
//	go test -run TestSurvivesEverything -hunt.replay=testdata/hunt/TestSurvivesEverything/the-same-end-Deployment.hunt .
//
// plays it alone and prints every line of the story. Committed, it is played first by each go test.
//
// A difference need not be a bug: two ends may be as good as each other. Then say so in the
// controller, or compare less (Options.Ignore). A bug that is not fixed yet is left out by its check
// and kind (Options.Known). README.md has real bugs of public operators, with their stories.
//
// # What a clean hunt does not mean
//
// A hunt in which nothing is tried fails: without a process, or if no controller of a process reconciles
// anything in the run without faults. The report names single controllers for which that holds.
//
// Only faults were tried that are listed at [Fault], only at sites that a run reached, and only so
// many at once as Runs allowed: [Report] has the numbers, the sites at which no fault struck, the faults that never
// struck, each with the reason, and what objects asked for that the lab does
// not model. A reconciler that reads the real clock sees no time pass: give it Process.Now. The
// [Report] says so once. The API
// server is that of a lab: it fills in the defaults of built-in and custom kinds and refuses invalid
// objects. It calls no webhooks and evaluates no admission policies; package
// stage/lab/apiserver/hunting has both. Views of kinds that are read without a watch are taken as informers, as controller-runtime
// does. A goroutine that a reconciler leaves behind is not in order with the rest, and global
// variables survive a crash here. What a scenario never does (scale down, delete, fail) was not
// tested.
//
// Where users act at a bad moment, more than one end can be right. A run in which a step comes sooner
// is not compared with its twin at the end, nor is one in which users keep what a controller has made
// (orphans); and where an object of the controllers was deleted, the
// end without that deletion is as good. An object that is made and gone while a watch is interrupted
// is reported all the same: no controller without resyncs could know of it.
//
// # Reading own writes
//
// A process sees its own writes when its watch reports them, as real controllers do, and a lag
// delays that. The controllers of package stage/lab/controllers are promised to see their own writes at
// once (package reconcile); they are hunted with Options.OwnWrites.
//
// # Determinism
//
// Seed and plan give the same run, with any number of workers. [Search] carries out its plans in
// rounds and looks at their results in the order of the plans; only Options.Time can end it earlier
// on a slower machine.
//
// # Concurrency
//
// The scenario is called by several goroutines at once, each with its own Run.
package hunt
