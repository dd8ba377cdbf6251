// Package kstatustest writes into objects the status that their controllers would have written, and
// says what is missing in a status. It is for tests of controllers that create objects and wait for
// them, if no other controllers run in the test.
//
// # Usage
//
//	err := kstatustest.MakeCurrent(deployment) // *appsv1.Deployment, *unstructured.Unstructured, …
//	err = client.Status().Update(ctx, deployment)
//
// and, to check an object that the test has written by itself:
//
//	kstatustest.RequireCurrent(t, deployment)
//
// If a test needs the whole life of an object and not one state of it, use package stage/lab/labtest.
//
// # What is written
//
// The status has the fields, conditions, reasons and messages of Kubernetes 1.36, in a form that
// its API server accepts: counts, observedGeneration, revisions, and start and end times. Other
// fields of the status stay, and so do the times of conditions whose status does not change.
// Outside the status, metadata.generation and spec.clusterIP are written if they are missing: an
// API server sets them, and the verdict depends on them. For the same reason a Pod gets
// status.qosClass.
//
// The custom kinds in the table below get the fields and words of their own API. An object of any
// other custom kind keeps its conditions, each with the status that means success; if it has none,
// it gets Ready or the conditions that related kinds have. [Failed] makes Ready False, [Pending]
// Unknown. It is an error if the rules of package kstatus for that kind read none of these conditions, or if the
// object has a phase: which words its controller uses is not known.
//
// # Evidence
//
// A server is the real kube-apiserver of internal/dev/e2e (make e2e), which accepts the status; the
// rules are those of package kstatus, which have the verdict that was asked for.
//
//	kinds                                                              | checked by
//	-------------------------------------------------------------------+------------------------
//	Deployment, ReplicaSet, ReplicationController, StatefulSet,        | server and rules
//	DaemonSet, Job, CronJob, Pod, PersistentVolumeClaim,               |
//	PersistentVolume, Service, Node, ResourceQuota, Ingress,           |
//	PodDisruptionBudget, HorizontalPodAutoscaler                       |
//	Namespace, CustomResourceDefinition, APIService                    | rules: a server writes these itself
//	routes and Gateway of Gateway API; Application and Rollout of      | rules only: no server has their
//	Argo; Backup and Restore of Velero; ClusterServiceVersion;         | definitions in our tests
//	Cluster of CloudNativePG; CloneSet of OpenKruise; RayCluster;      |
//	Elasticsearch; all kinds of Flux                                   |
//	other custom kinds                                                 | rules only
//
// # Determinism
//
// The same object, state and options give the same status. All times are [Options.Now].
//
// # Concurrency
//
// Functions may be called from several goroutines at once, each with a different object.
package kstatustest
