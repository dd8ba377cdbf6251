// Package scheduling has a scheduler in the manner of kube-scheduler, as a controller of package
// stage/reconcile, and the parts from which another scheduler can be made.
//
// # Terminology
//
// The words are those of kube-scheduler. A filter says whether a Pod may run on a Node; the Nodes
// that pass all filters are scored, and the Pod is bound to the one with the highest score. A
// [PodInfo] and a [NodeInfo] are a Pod and a Node with what filters read of them. A Pod that no
// Node takes is unschedulable and waits in the scheduling queue.
//
// # Usage
//
// [Scheduler] is one of controllers.All. A scheduler of your own is a controller that lists the
// Pods with its schedulerName, keeps a NodeInfo for each Node, asks the filters, chooses, and calls
// [Bind]:
//
//	func (s *scheduler) reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
//		pod := scheduling.NewPodInfo(s.next(r.Cache))
//		for _, node := range s.nodes(r.Cache) { // NewNodeInfo, then AddPod for each Pod on it that is not terminal
//			if scheduling.RunFilters(pod, node).Fits() && s.isBetter(node) {
//				…
//			}
//		}
//		return reconcile.Result{}, scheduling.Bind(ctx, r, pod.Pod, s.best)
//	}
//
// The example of this package is a whole scheduler. Sums of resources are in package
// stage/controllers/resources.
//
// # Determinism
//
// Nothing is drawn at random: of Nodes with the same score, [Scheduler] takes the first by name.
//
// # Concurrency
//
// The functions are safe for concurrent use. Controllers belong to one loop. A PodInfo is
// immutable; a NodeInfo must not be used from several goroutines at once.
//
// # Compatibility
//
// The filters and their texts are those of kube-scheduler 1.36. [Scheduler] scores by free
// resources alone, preempts no Pods, and knows no affinity between Pods, topology spread, host
// ports, images or volume limits. It takes a Node that is not ready for one with a taint, because
// no node lifecycle controller sets the taint.
package scheduling
