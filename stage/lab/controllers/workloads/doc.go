// Package workloads has the controllers of Deployments, ReplicaSets, ReplicationControllers,
// StatefulSets and DaemonSets, like those in kube-controller-manager.
//
// # Usage
//
// The controllers are values for a loop of package stage/reconcile, and part of controllers.All:
//
//	loop := reconcile.NewLoop(cluster, reconcile.Options{}, workloads.Deployments(), workloads.ReplicaSets())
//
// A Deployment needs the controller of ReplicaSets in addition to its own. A DaemonSet needs a
// scheduler, which binds its Pods.
//
// # Determinism
//
// The controllers draw no random number. The names and uids of new objects come from the cluster.
//
// # Concurrency
//
// The functions are safe for concurrent use. The controllers that they return belong to one loop.
//
// # Compatibility
//
// What differs from Kubernetes 1.36 is in the table of package stage/lab/controllers.
package workloads
