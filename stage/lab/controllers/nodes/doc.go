// Package nodes does what kube-controller-manager does when Nodes fail: it taints them, evicts
// their Pods, and removes the Pods of Nodes that are gone.
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
// its Lease in kube-node-lease. A pass is one look at all Nodes. The time between two passes is
// Options.MonitorPeriod. Zones come from the labels topology.kubernetes.io/region and /zone.
//
// # Usage
//
// controllers.All has all of them. A Node fails when its kubelet stops (annotation [Kubelet]), when
// a Stage or a test makes its condition Ready False or Unknown, when its heartbeats stop, or when
// it is deleted:
//
//	fault.Schedule(sim, plan, fault.StopKubelet())
//	lab.Drive(node, kstatustest.NotReady)
//	lab.Delete(node)
//
// If simulation.Options.Kubelet is [KubeletRuns], as in a labtest.Lab, no Stage is played on the
// Pods of a stopped kubelet. They stay as they are, including Pods that are being deleted.
//
// # Determinism
//
// Nothing is drawn at random. Passes begin when the first Node is seen. If several Nodes fail in
// one pass, the Nodes whose names come first are tainted first. In Kubernetes the order is random.
//
// # Concurrency
//
// The functions are safe for concurrent use. The controllers that they return keep state and belong
// to one loop.
//
// # Compatibility
//
// Times, rates, zones, conditions, Events and messages are those of Kubernetes 1.36.
// stage/lab/internal/oracle compares them with its controllers. What differs:
//
//	Kubernetes does                          | these do                          | why
//	-----------------------------------------+-----------------------------------+------------------
//	treat a Node that never had a heartbeat  | treat it as alive while it is     | presets.NodeFast
//	as unreachable after 50 s                | ready (Options.RequireHeartbeats) | sends none
//	add tolerations of 300 s to Pods as they | evict as if Pods had them         | simulations without
//	are created                              |                                   | package defaults
//	know a Node that is made again under its | begin again, 50 s later           | known by uid
//	name, and has no heartbeat, as before    |                                   |
//	record NodeNotReady only for a Node that | record it also for one that was   | lab.Drive writes
//	was ready in this pass                   | ready in the last one             | the condition
//	mark Pods not ready if the controller    | do it for any writer of Unknown   | lab.Drive writes
//	itself has found the Node unreachable    |                                   | the condition
//	look at 8 Nodes at a time                | look at one after another         | determinism
package nodes
