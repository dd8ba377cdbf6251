// Package scheduling makes kube-scheduler's decisions, as a controller of package stage/reconcile.
// It is made of plugins, so a scheduler of your own needs only its own filter or score.
//
// # Terminology
//
// The words are those of kube-scheduler. A [FilterPlugin] says whether a Pod may run on a Node.
// Plugins with the interface [ScorePlugin] score the Nodes that pass all filters, and the Pod is
// bound to the Node with the highest sum. If no Node passes, a [PostFilterPlugin] can make room,
// and the Pod waits in the queue, which a [QueueSortPlugin] orders. A [Profile] says which plugins
// take part. A [Cycle] is the scheduling of one Pod. A [PodInfo] and a [NodeInfo] are a Pod and a
// Node with what plugins read of them.
//
// # Usage
//
// [Scheduler] is one of controllers.All. A scheduler of your own begins with this skeleton:
//
//	type myScore struct{}
//
//	func (myScore) Name() string { return "MyScore" }
//
//	// PreScore is for what has to be found out once for each Pod; leave it out if there is nothing.
//	func (p myScore) PreScore(c *scheduling.Cycle, nodes []*scheduling.NodeInfo) scheduling.Status {
//		c.Write(p, …) // Score reads it with c.Read(p)
//		return scheduling.Status{}
//	}
//
//	// Score is from 0 to 100, or else NormalizeScore brings it there.
//	func (p myScore) Score(c *scheduling.Cycle, n *scheduling.NodeInfo) int64 { … }
//
//	profile := scheduling.DefaultProfile()
//	profile.Plugins = append(profile.Plugins, myScore{}) // or only your own
//	profile.Weights["MyScore"] = 10
//	own := scheduling.Scheduler(scheduling.Options{SchedulerName: "mine", Profile: &profile})
//
// A scheduler of your own runs together with the others, and takes the Pods with schedulerName:
// mine:
//
//	sim, err := simulation.New(set, simulation.Options{
//		Controllers: append(controllers.All(controllers.Options{}), own),
//		…
//	})
//
// A filter has Filter instead of Score. A filter that keeps Pods waiting can also have
// QueueingHint, which says after which changes they are tried again. Without it, they are tried
// after each change. Options.Trace is called with each decision: the Node with all scores, or the
// message and the victims.
//
// The examples of this package are a bin packer, a scheduler of gangs with quotas and preemption,
// and a score that avoids fragments. Package stage/lab/controllers/resources adds up resources.
//
// # Time
//
// No time passes while Pods are tried, so kube-scheduler's backoff decides only their order. These
// things take time:
//
//   - A Pod that is rejected is tried again after 5 minutes, at a whole or half minute, if anything
//     in the cluster has changed since.
//   - In a cluster without Nodes, a Pod is tried after 1, 2, 4, 8 and then each 10 seconds, and so
//     a little later than the first Node comes.
//   - A Pod whose claims wait for it is bound when, at the end of a second, the claims are bound.
//     It fails after 10 minutes.
//
// If the answers of your own plugin depend on the time, the scheduler still calls it again only
// after a change: let something change the label of a Node.
//
// # Determinism
//
// Nothing is drawn at random. Among Nodes with the same score, it takes the Node that
// kube-scheduler 1.36 takes. This depends on the order in which Nodes and zones were added.
//
// # Concurrency
//
// The functions are safe for concurrent use. Controllers, and the objects that they pass to
// plugins, belong to one loop.
//
// # Compatibility
//
// Decisions, messages, scores, victims, the order of attempts and their times are those of
// kube-scheduler 1.36.3: stage/lab/internal/oracle/scheduler compares both in random scenarios.
// What differs:
//
//	kube-scheduler does                      | this does                         | why
//	-----------------------------------------+-----------------------------------+------------------
//	begin the search for victims at a random | begin with the first Node, and    | determinism
//	Node, and take any of equal ones         | take the first of equal ones      |
//	try Pods again after 5 minutes, and each | so only if anything has changed   | it would come to
//	10 seconds if there is no Node; bind     | since they were tried             | the same, and labs
//	claims again after 10 minutes in vain    |                                   | would never settle
//	try others again within a second after a | try them when it goes             | it would come to
//	Pod is gone whose claims were to be bound|                                   | the same
//	count the Nodes with an image when       | count them in each cycle          | what it counts is
//	another thing of a Node changes          |                                   | old by chance
//	see one victim after another vanish, and | see all at once                   | deletions take no
//	try a Pod that waits after each          |                                   | time here
//	leave priorityClassName to admission     | resolve it if admission has not,  | admission of package
//	                                         | as it has in a lab; an unknown    | defaults is optional
//	                                         | class leaves the Pod pending      |
//	write Events of events.k8s.io, of which  | write those of v1, which count    | one kind of Events
//	a series keeps the first message         | what repeats                      | for all controllers
//
// A Node that is not ready counts as tainted even without a node lifecycle controller. A Node
// without the label kubernetes.io/hostname is treated as if it had its name, which every kubelet
// sets.
package scheduling
