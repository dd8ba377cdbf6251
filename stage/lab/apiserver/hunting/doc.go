// Package hunting hunts whole managers: programs that are not changed at all, with their caches, work
// queues, backoff and leader election, over package apiserver. Package hunt does so with reconcilers,
// much faster and exactly repeatable; this is for what it cannot take apart.
//
// # Terminology
//
// A run is one life of a cluster in a testing/synctest bubble: users apply objects, the manager
// reacts over connections in memory, a [Fault] strikes at a request, and at the end the cluster is
// compared with that of a run without faults, its twin. A request is named by its method, its path
// and how many there were before of the same.
//
// # Usage
//
//	func TestManagerSurvives(t *testing.T) {
//		hunting.Test(t, hunting.Options{}, hunting.Scenario{
//			Start: func(ctx context.Context, c *rest.Config) error { // again after each crash
//				m, err := ctrl.NewManager(c, ctrl.Options{…})
//				…
//				return m.Start(ctx)
//			},
//			Objects: []any{website},
//			Steps:   []hunting.Step{{At: 10 * time.Minute, Do: func(lab *labtest.Lab) { … }}},
//		})
//	}
//
// # What is lost
//
// Beside package hunt, from whose checks those of the end, of a restart and of deletion are taken:
//
//   - Order. Goroutines of a manager run as Go schedules them, so a plan gives the same run often, not
//     always: a finding says in how many of three further runs it came again.
//   - Places. A fault strikes at a request; which controller and key sent it is not known. Plans are
//     not shrunk, since they have one fault, and are no files.
//   - Views. A lag holds the frames of all watches, or of those of one resource, from a write on, and no
//     states between are missed.
//   - Faults of users, Pods and Nodes at the worst moment, pairs of faults, and several replicas.
//   - Crashes. The context ends, and from that instant no request of that life is answered: goroutines
//     that do not end with their context, and global variables, survive it. A Start that does not
//     return after its context has ended is reported as a deadlock of the bubble.
//   - controller-runtime's priority queue (the default since 0.23). A queue whose manager has ended may
//     wait for a mutex for ever, which no bubble takes for waiting: time stands still, and the test ends
//     by its timeout. Use config.Controller{UsePriorityQueue: new(false)}.
//   - Speed: some 7 runs a second instead of many hundred.
//
// # Concurrency
//
// Runs are made one after another. Start is called by a goroutine of its own.
package hunting
