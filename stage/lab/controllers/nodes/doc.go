// Package nodes has what kube-controller-manager does when Nodes fail: it taints them, evicts their
// Pods, and removes the Pods of Nodes that are gone.
//
//	ConditionTaints  taints NoSchedule by the conditions of a Node and spec.unschedulable
//	Lifecycle        Ready=Unknown when heartbeats stop, taints NoExecute at a limited rate
//	TaintEviction    deletes the Pods that do not tolerate a taint NoExecute, or no longer
//	PodGC            deletes the Pods of Nodes that are gone, and terminated Pods above a threshold
//	Kubelets         makes Pods ready again whose Node is ready again
//
// # Terminology
//
// A heartbeat is a change of lastHeartbeatTime of the condition Ready of a Node, or of renewTime of
// its Lease in kube-node-lease. A pass is one look at all Nodes; passes are Options.MonitorPeriod
// apart. Zones are those of the labels topology.kubernetes.io/region and /zone.
//
// # Usage
//
// controllers.All has them all. A Node fails when its kubelet stops (annotation [Kubelet]), when a
// Stage or a test makes its condition Ready False or Unknown, when its heartbeats stop, or when it is
// deleted:
//
//	fault.Schedule(sim, plan, fault.StopKubelet())
//	lab.Drive(node, kstatustest.NotReady)
//	lab.Delete(node)
//
// Nothing is played on the Pods of a kubelet that does not run, if simulation.Options.Kubelet is
// [KubeletRuns], as in a labtest.Lab: they stay as they are, Pods that are being deleted too.
//
// # Determinism
//
// Nothing is drawn at random. Passes begin when the first Node is seen. Of Nodes that fail in one
// pass, those whose names come first are tainted first; in Kubernetes the order is random.
//
// # Concurrency
//
// The functions are safe for concurrent use. The controllers that they return have a state and
// belong to one loop.
//
// # Compatibility
//
// Times, rates, zones, conditions, Events and messages are those of Kubernetes 1.36, compared with its
// controllers in stage/lab/internal/oracle. What differs:
//
//	Kubernetes does                          | these do                          | why
//	-----------------------------------------+-----------------------------------+------------------
//	take a Node that never had a heartbeat   | take it for alive while it is     | presets.NodeFast
//	for unreachable after 50 s               | ready (Options.RequireHeartbeats) | sends none
//	add tolerations of 300 s to Pods as they | evict as if Pods had them         | simulations without
//	are created                              |                                   | Defaults
//	know a Node that is made again under its | begin anew, 50 s later            | known by uid
//	name, and has no heartbeat, as before    |                                   |
//	record NodeNotReady only for a Node that | record it also for one that was   | lab.Drive writes
//	was ready in this pass                   | ready in the last one             | the condition
//	mark Pods not ready if the controller    | do it whoever wrote Unknown       | lab.Drive writes
//	itself has found the Node unreachable    |                                   | the condition
//	look at 8 Nodes at a time                | look at one after another         | determinism
package nodes
