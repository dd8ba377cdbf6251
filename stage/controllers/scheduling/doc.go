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
// The examples of this package are a bin packer, a gang scheduler with quotas, and a score that
// avoids fragments. Sums of resources are in package stage/controllers/resources.
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
// Decisions, messages, scores and victims are those of kube-scheduler 1.36.3, which
// internal/dev/oracle/scheduler holds on random clusters. What differs:
//
//	kube-scheduler does                      | this does                         | why
//	-----------------------------------------+-----------------------------------+------------------
//	allocate devices of ResourceClaims       | leave the Pod pending, with a     | not modelled
//	                                         | message that says so              |
//	count volumes against the limits of      | not look at them                  | not modelled yet
//	CSINodes, and storage capacities         |                                   |
//	begin the search for victims at a random | begin with the first Node, and    | determinism
//	Node, and take any of equal ones         | take the first of equal ones      |
//	try Pods again after 5 minutes           | so only if anything has changed   | otherwise it comes
//	                                         | since they were tried             | to the same
//	give up when claims are not bound within | wait on                           | not modelled yet
//	10 minutes                               |                                   |
//	ask each plugin with details of a change | ask by the kind of what changed   | more attempts than
//	whether it may let a Pod through         |                                   | needed, not fewer
//	resolve priorityClassName at admission   | resolve it here; an unknown class | stage/memory has no
//	                                         | leaves the Pod pending            | admission
//
// A Node that is not ready counts as tainted even where no node lifecycle controller runs, and one
// without the label kubernetes.io/hostname as if it had its name, which every kubelet sets.
package scheduling
