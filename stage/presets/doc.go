// Package presets has Stage sets for the stock lifecycles of nodes, pods and volumes, to be compiled as they are or beside Stages of
// one's own.
//
// # Usage
//
//	set, err := stage.Compile(stage.Options{}, presets.NodeFast(), presets.NodeHeartbeat(), presets.PodGeneral())
//
// To have one Stage of a preset differently, take the others by name from Source.Stages and give them to [stage.Objects]. Templates
// read fields that an object may lack: they need Options.MissingKeyError to be false, the default.
//
// # Presets
//
//	preset                    Stages
//	-------------------------------------------------------------------------------------------------------------
//	NodeFast                  node-initialize
//	NodeHeartbeat             node-heartbeat
//	NodeHeartbeatWithLease    node-heartbeat-with-lease
//	NodeChaos                 node-not-ready
//	PodFast                   pod-ready, pod-complete, pod-delete
//	PodGeneral                pod-create, pod-init-container-running, pod-init-container-completed, pod-ready,
//	                          pod-complete, pod-delete
//	PodChaos                  pod-container-running-failed, pod-init-container-running-failed
//	Volumes                   pvc-provision, pvc-delete, pv-bind, pv-delete
//
// PodFast and PodGeneral exclude each other, and so in effect do the two heartbeats; all others combine. Pods are played whether they have a
// node or not. Where a scheduler assigns nodes, give the Player a transport that shows only Pods with spec.nodeName.
//
// # Annotations
//
// The Stages of PodGeneral, PodChaos and NodeChaos read annotations of the object, named <stage>.stage.kwok.x-k8s.io/<key>:
//
//	key               value                                                     read by
//	----------------------------------------------------------------------------------------------------------
//	delay             duration (5s) or time (RFC 3339): when the Stage is due   all
//	jitter-delay      the same: the latest time it is due                       all but pod-delete
//	weight            integer: the share among Stages that match                all
//	container-name    the container that fails; absent: all                     PodChaos
//	exit-code         of the container that fails; absent: 1                    PodChaos
//	reason, message   of the failure                                            PodChaos, NodeChaos
//	type              a condition of the Node that becomes True                 NodeChaos
//
// In PodGeneral a Stage has weight 1 and is due after 1 to 5 seconds by default, pod-delete after 1 second to the end of the grace period. In
// the chaos presets a Stage has weight 10000, so that it prevails, and is due after 1 second.
//
// # Determinism
//
// A preset is the same at every call. Templates read the object, the time and the addresses that the Env of the Set gives.
//
// # Concurrency
//
// All functions are safe for concurrent use. Each call parses the preset anew.
//
// # Compatibility
//
// Names, annotations, delays, weights and effects are those of the Stages that come with kwok v0.8, so that either can take the place of the
// other. The tests compare them on the recorded cases. On objects that those cases do not have, kwok's Stages are wrong for a user in
// some ways, and ours differ. The cases of TestDifferences pin that.
//
//	kwok's Stages do                                           | ours do                                         | case
//	-----------------------------------------------------------+-------------------------------------------------+------------------------
//	reset restartCount to 0                                    | keep that of the container of the same name     | restart count
//	fail to render a Pod with fewer statuses than containers   | render it                                       | restart count
//	set startTime anew when a Pod gets ready or fails          | keep it                                         | start time
//	lose the time at which a container was started             | keep it, except pod-complete of PodGeneral      | container start
//	make a failed Pod without an address pending again         | leave Pods alone that have ended                | ended pod
//	end sidecars with the other init containers                | let them run                                    | sidecar
//	render numbers or wrong YAML from reason and message       | quote them                                      | failure text
//	fail to render a Pod without spec.nodeName                 | render it                                       | no node
//	date the Ready condition of a Node to its creation         | date it to when its status changed              | condition time
//	give a Node with capacity 4 allocatable 1k                 | take one from the other                         | allocatable
//	print node information such as 1.30 as a number            | quote it                                        | node info
//	send addresses: null if there is neither IP nor host name  | send the name of the Node, or nothing           | addresses
//	cannot evaluate a claim or volume that names no class      | do not match it                                 | no class
//	cannot evaluate a claim or volume that has no phase yet    | take it for pending                             | no phase
//
// Kept, because recorded cases have it, although a kubelet does otherwise: pod-complete leaves the Ready condition True; in PodGeneral it
// leaves the containers ready, and dates their start to their end; PodGeneral and PodChaos set no podIPs and hostIPs; a container that does not
// fail runs on in a failed Pod; all init containers run at once; pvc-provision sets status.volumeName, which claims do not have.
package presets
