// Package controllers does what kube-controller-manager and kube-scheduler do for workloads,
// without their informers and caches. The controllers are in the packages below it, by subject:
//
//	workloads   Deployments, ReplicaSets, ReplicationControllers, StatefulSets, DaemonSets
//	batch       Jobs, CronJobs
//	autoscaling HorizontalPodAutoscalers
//	scheduling  a scheduler, scheduling gates, and the parts for a scheduler of your own
//	volumes     PersistentVolumeClaims and PersistentVolumes
//	services    Services, EndpointSlices and Endpoints
//	nodes       Nodes that fail: taints, eviction, Pod garbage collection
//	namespaces  what each Namespace has: a ServiceAccount and the certificate of the server
//	disruption  PodDisruptionBudgets
//	quota       ResourceQuotas
//	certificates the end of CertificateSigningRequests
//	admission   what an API server does as it takes objects: limits, quotas, node ports
//	resources   sums of the resources that Pods request and Nodes offer
//	kubelet     what kubelets do with Pods and what these say
//	features    which fields of built-in kinds are modelled, and reports of those that are not
//
// # Usage
//
// They are controllers of package stage/reconcile. In virtual time, they run together with Stages
// that play Nodes and Pods:
//
//	set, err := stage.Compile(stage.Options{}, presets.NodeFast(), presets.PodGeneral())
//	sim, err := simulation.New(set, simulation.Options{
//		Controllers: controllers.All(controllers.Options{}),
//		Filter:      controllers.Bound,   // Pods run only when they have a Node
//		Kubelet:     nodes.KubeletRuns,   // that works
//	})
//	err = sim.Cluster().Load(ctx, manifests)
//	err = sim.Advance(ctx, 5*time.Minute)
//
// In real time, with any transport:
//
//	all := controllers.All(controllers.Options{})
//	err := reconcile.Play(ctx, cluster, reconcile.PlayOptions{}, all...)
//
// To run only some of them, take them from the packages below. Several controllers keep state, so
// each loop needs its own controllers.
//
// # Determinism
//
// The controllers draw nothing at random; names and uids come from the cluster. The same events at
// the same times give the same writes.
//
// # Concurrency
//
// The functions are safe for concurrent use. The controllers that they return belong to one loop.
//
// # Compatibility
//
// These are like Kubernetes 1.36: behavior, status, conditions with their reasons, messages, times
// and order, annotations, labels and finalizers. They agree phase by phase with
// testdata/recordings, which the real controllers made. Fields that an object leaves out have the
// defaults of the API server. This also holds on a cluster that stores no defaults, such as
// stage/memory without package defaults. What differs:
//
//	Kubernetes does                          | these do                          | why
//	-----------------------------------------+-----------------------------------+------------------
//	record Events                            | record them if Options.Events of  | they cost requests
//	                                         | the loop says so                  |
//	hash Go values for pod-template-hash     | hash JSON: other names, as stable | there are no
//	and for revisions                        |                                   | Go types
//	take time, as client limits, latencies   | do all at one virtual time;       | simulation.Timing
//	and concurrent syncs say                 | ReplicaSets and Jobs are like     | is off by default
//	                                         | them with simulation.ClusterLike  |
//	bind Pods by their subresource           | write spec.nodeName, then the     | Transport has no
//	                                         | condition PodScheduled            | subresource for it
//	evict by taints, find unreachable Nodes  | see package nodes                 |
//	set clusterIP, and PodScheduled of Pods  | set it soon after, unless it was  | package defaults sets
//	with gates, in the API server            | set by then                       | it; memory alone not
//	create as many Pods as a spec says       | create at most 150,000 for one    | a number in a spec
//	                                         | owner; at most 10,000 wait for a  | must not fill the
//	                                         | Node                              | memory
//	count the backoff of a Job by the        | count it by the Pods that exist   | the controller has
//	failures that they have seen             |                                   | no state
//
// stage/memory itself makes Namespaces Active and definitions Established, and collects objects
// that have lost their owner.
package controllers
