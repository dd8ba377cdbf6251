// Package controllers has what kube-controller-manager and kube-scheduler do for workloads, in small: Deployments, ReplicaSets, ReplicationControllers,
// StatefulSets, DaemonSets, Jobs, CronJobs, a scheduler, volume claims, Services and their endpoints.
//
// # Usage
//
// They are controllers of package stage/reconcile. In virtual time, beside Stages that play nodes and Pods:
//
//	set, err := stage.Compile(stage.Options{}, presets.NodeFast(), presets.PodGeneral())
//	sim, err := simulation.New(set, simulation.Options{
//		Controllers: controllers.All(controllers.Options{}),
//		Filter:      controllers.Bound, // Pods run only when they have a node
//	})
//	err = sim.Cluster().Load(ctx, manifests)
//	err = sim.Advance(ctx, 5*time.Minute)
//
// In real time, with any transport: reconcile.Play(ctx, transport, reconcile.PlayOptions{}, controllers.All(controllers.Options{})...).
// Each function makes one controller, for those who want only some. Several have a state, so that each loop needs controllers of its own.
//
// # Determinism
//
// The controllers draw nothing at random; names and uids come from the cluster. The same events at the same times give the same writes.
//
// # Concurrency
//
// The functions are safe for concurrent use. The controllers that they return belong to one loop.
//
// # Compatibility
//
// Behaviour, status, conditions with their reasons, messages, times and order, annotations, labels and finalizers are those of Kubernetes 1.36, phase by
// phase as in testdata/recordings, which the real controllers made. Fields that an object leaves out have the defaults of the API server, because
// stage/memory sets none. What differs:
//
//	Kubernetes does                                            | these do                                        | why
//	-----------------------------------------------------------+-------------------------------------------------+---------------------
//	record Events                                              | record none                                     | status tells enough
//	hash Go values for pod-template-hash and revisions         | hash JSON: other names, just as stable          | no Go types here
//	create and delete Pods in batches, many at once            | one after another, all at once in virtual time  | determinism
//	bind Pods by their subresource                             | write spec.nodeName, then PodScheduled          | Transport has none
//	schedule with preemption, affinity of Pods, topology,      | resources, node selectors and affinity, taints, | in small
//	ports, volumes limits, images                              | claims; least allocated first                   |
//	taint nodes that are not ready                             | take them for tainted                           | no such controller
//	keep claims and volumes in use by finalizers               | let them go                                     | no such controller
//	delete claims of StatefulSets by their retention policy    | keep them                                       | not yet
//	wait longer each time before a daemon Pod is made again    | wait a second                                   | no memory of it
//	set clusterIP in the API server, and PodScheduled of Pods  | set it soon after                               | memory does not
//	with scheduling gates
//	count the backoff of a Job by what it has seen             | by the Pods that are there                      | no memory of it
//
// Namespaces become Active, and definitions Established, by stage/memory itself, which also collects what has lost its owner.
package controllers
