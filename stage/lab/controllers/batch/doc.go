// Package batch has the controllers of Jobs and CronJobs, as those of kube-controller-manager.
//
// # Usage
//
// The controllers are values for a loop of package stage/reconcile, and part of controllers.All.
// CronJobs need the controller of Jobs beside their own.
//
// # Determinism
//
// Nothing is drawn at random: a CronJob starts its Jobs at the second of its schedule.
//
// # Concurrency
//
// The functions are safe for concurrent use. The controllers that they return belong to one loop.
//
// # Compatibility
//
// What differs from Kubernetes 1.36 is in the table of package stage/lab/controllers.
package batch
