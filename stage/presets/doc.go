// Package presets has ready-made Stages for the lifecycles of nodes, pods and volumes. They can be
// compiled as they are, or together with other Stages.
//
// # Usage
//
//	set, err := stage.Compile(stage.Options{}, presets.NodeFast(), presets.NodeHeartbeat(), presets.PodGeneral())
//
// To replace one Stage of a preset, take the other Stages by name from Source.Stages and pass them
// to [stage.FromStages]. Templates read fields that an object can lack, so Options.MissingKeyError
// must be false, the default.
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
// Stages do not act on the command of a container. Package stage/lab/controllers/kubelet plays Pods
// whose containers end, fail or have probes.
//
// A Set can have only one of PodFast and PodGeneral, and should have only one of the two
// heartbeats; all other presets can be combined. The Stages play Pods with and without a node. If a
// scheduler assigns the nodes, give the Player a transport that shows only Pods with spec.nodeName.
//
// # Annotations
//
// The Stages of PodGeneral, PodChaos and NodeChaos read annotations of the object, named
// <stage>.stage.kwok.x-k8s.io/<key>:
//
//	key               value                                                     read by
//	----------------------------------------------------------------------------------------------------------
//	delay             duration (5s) or time (RFC 3339): when the Stage is due   all
//	jitter-delay      the same: the latest time it is due                       all but pod-delete
//	weight            integer: the weight among the Stages that match           all
//	container-name    the container that fails; absent: all                     PodChaos
//	exit-code         of the container that fails; absent: 1                    PodChaos
//	reason, message   of the failure                                            PodChaos, NodeChaos
//	type              a condition of the Node that becomes True                 NodeChaos
//
// In PodGeneral a Stage has weight 1 and is due after 1 to 5 seconds by default; pod-delete is due
// between 1 second and the end of the grace period. In the chaos presets a Stage has weight 10000,
// so that it is nearly always chosen, and is due after 1 second.
//
// # What a Stage reaches
//
// Each Stage writes to the object that it is played on. Only pvc-provision and pvc-delete also
// write to another object: the PersistentVolume whose name contains the uid of the claim. The API
// server chooses the uid, so the author of an object cannot make a player write to the objects of
// others. pv-delete deletes only volumes of the class kwok-volume whose name contains the uid in
// claimRef: the volumes that pvc-provision made. No text of an object, neither a value nor a key,
// adds fields to a patch.
//
//	Stage                              writes to the object        and to
//	---------------------------------------------------------------------------------------------------
//	node-heartbeat                     status
//	node-heartbeat-with-lease          status
//	node-initialize                    status
//	node-not-ready                     status
//	pod-complete                       status
//	pod-complete of PodGeneral         status
//	pod-container-running-failed       status
//	pod-create                         status
//	pod-delete                         deletes it
//	pod-delete of PodGeneral           deletes it
//	pod-init-container-completed       status
//	pod-init-container-running         status
//	pod-init-container-running-failed  status
//	pod-ready                          status
//	pod-ready of PodGeneral            status
//	pv-bind                            status
//	pv-delete                          deletes it
//	pvc-delete                                                     PersistentVolume pvc-<uid>
//	pvc-provision                      metadata, spec, status      PersistentVolume pvc-<uid>
//
// # Determinism
//
// A preset is the same at every call. Templates read the object, the time and the addresses that
// the Env of the Set gives.
//
// # Concurrency
//
// All functions are safe for concurrent use. Each call parses the preset again.
//
// # Compatibility
//
// Names, annotations, delays, weights and effects are the same as in the Stages that come with kwok
// v0.8, so that one can replace the other. The tests compare both on the recorded cases. For other
// objects, kwok's Stages have some faults, and our Stages differ. The cases of TestDifferences
// check each difference.
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
// Some effects differ from a kubelet's, because the recorded cases have them:
//
//   - pod-complete leaves the Ready condition True. In PodGeneral it also leaves the containers
//     ready, and sets their start time to their end time.
//   - PodGeneral and PodChaos set no podIPs and hostIPs.
//   - In a failed Pod, a container that does not fail keeps running.
//   - All init containers run at the same time.
//   - pvc-provision sets status.volumeName, a field that claims do not have.
package presets
