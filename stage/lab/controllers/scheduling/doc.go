// Package scheduling has kube-scheduler's decisions as a controller of package stage/reconcile, made
// of plugins, so that a scheduler of your own is its own filter or score and nothing else.
//
// # Terminology
//
// The words are those of kube-scheduler. A [FilterPlugin] says whether a Pod may run on a Node; the
// Nodes that pass all filters are scored by the plugins with the interface [ScorePlugin], and the Pod
// is bound to the one with the highest sum. If there is none, a [PostFilterPlugin] may make room, and
// the Pod waits in the queue, which a [QueueSortPlugin] orders. A [Profile] says which plugins take
// part. A [Cycle] is the scheduling of one Pod, a [PodInfo] and a [NodeInfo] are a Pod and a Node with
// what plugins read of them.
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
// It runs beside the others, and takes the Pods with schedulerName: mine:
//
//	sim, err := simulation.New(set, simulation.Options{
//		Controllers: append(controllers.All(controllers.Options{}), own),
//		…
//	})
//
// A filter has Filter in place of Score. One that keeps Pods waiting may also have QueueingHint, which
// says after which changes they are tried again; without it, that is after each. Options.Trace is told
// each decision: the Node with all scores, or the message and the victims.
//
// The examples of this package are a bin packer, a scheduler of gangs with quotas and preemption, and
// a score that avoids fragments. Sums of resources are in package stage/lab/controllers/resources.
//
// # Time
//
// No time passes while Pods are tried, so that kube-scheduler's backoff decides about their order
// only. What takes time: a Pod that is rejected is tried again after 5 minutes, at a whole or half
// minute, if anything has changed in the cluster since; where there is no Node at all it is tried
// after 1, 2, 4, 8 and then each 10 seconds, and so a little later than the first Node comes; a Pod
// whose claims wait for it is bound when, at the end of a second, they are bound, and fails after 10
// minutes. A plugin of your own whose answers depend on the time is asked again only after a change:
// let something change the label of a Node.
//
// # Determinism
//
// Nothing is drawn at random. Of Nodes with the same score the one is taken that kube-scheduler 1.36
// takes, which depends on the order in which Nodes and zones were added.
//
// # Concurrency
//
// The functions are safe for concurrent use. Controllers and what they hand to plugins belong to one
// loop.
//
// # Compatibility
//
// Decisions, messages, scores, victims, the order of attempts and their times are those of
// kube-scheduler 1.36.3: stage/lab/internal/oracle/scheduler plays random scenarios with both. What differs:
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
// A Node that is not ready counts as tainted even where no node lifecycle controller runs, and one
// without the label kubernetes.io/hostname as if it had its name, which every kubelet sets.
package scheduling
